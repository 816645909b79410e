"""Random numbers of the boards: which generator an operator draws from, and the seeding functions of `torch.flagos`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE, DeviceGenerator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def drawing(op: torch._ops.OpOverload) -> Callable[..., Any]:
    """Return *op* as ``run(index, *args, **kwargs)`` that draws, if at all, from the generator of board *index*."""
    if any(str(argument.type) == "Optional[Generator]" for argument in op._schema.arguments):
        return _with_generator(op)
    if torch.Tag.nondeterministic_seeded in op.tags:
        return _with_lent_state(op)
    return lambda _index, *args, **kwargs: op(*args, **kwargs)


def _with_generator(op: torch._ops.OpOverload) -> Callable[..., Any]:
    arguments = op._schema.arguments
    position = next(i for i, argument in enumerate(arguments) if argument.name == "generator")

    def run(index: int, *args: Any, **kwargs: Any) -> Any:
        if position < len(args):
            args = (*args[:position], _checked(args[position], index), *args[position + 1 :])
        else:
            kwargs["generator"] = _checked(kwargs.get("generator"), index)
        return op(*args, **kwargs)

    return run


def _checked(generator: Any, index: int) -> torch.Generator:
    if generator is None:
        return BOARDS.generators[index]
    ours = BOARDS.generators_by_address.get(generator._cdata)
    if ours is None:
        raise RuntimeError(f"Expected a '{DEVICE_TYPE}' device type for generator but found '{generator.device.type}'")
    return ours


def _with_lent_state(op: torch._ops.OpOverload) -> Callable[..., Any]:
    def run(index: int, *args: Any, **kwargs: Any) -> Any:
        with lent_state(index):
            return op(*args, **kwargs)

    return run


@contextmanager
def lent_state(index: int) -> Iterator[None]:
    """Lend the state of board *index* to the CPU generator.

    Code that takes no generator draws from the CPU's.
    """
    generator, host = BOARDS.generators[index], torch.default_generator
    kept = host.get_state()
    host.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(host.get_state())
        host.set_state(kept)


def _generator(device: object) -> DeviceGenerator:
    return BOARDS.generators[index_of(device)]


def index_of(device: object, *, optional: bool = True) -> int:
    """Return the board that *device* names: ``None`` and -1 mean the current one.

    Raises:
        ValueError: *device* is of another type.
        RuntimeError: there is no such board.
    """
    if device is None and optional:
        return BOARDS.current()
    device = getattr(device, "idx", device)  # of a torch.cuda.device object
    if isinstance(device, int):
        return BOARDS.current() if device == -1 else BOARDS.checked(device)
    named = torch.device(device)  # type: ignore[call-overload] # the class of torch or ours, which reads "cuda"
    if named.type != DEVICE_TYPE:
        raise ValueError(f"expected a '{DEVICE_TYPE}' device, but got '{named}'")
    return BOARDS.current() if named.index is None else BOARDS.checked(named.index)


def get_rng_state(device: object = DEVICE_TYPE) -> torch.Tensor:
    """Return the generator state of *device* as a CPU ByteTensor."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the generator state of every device."""
    return [generator.get_state() for generator in BOARDS.generators]


def set_rng_state(new_state: torch.Tensor, device: object = DEVICE_TYPE) -> None:
    """Set the generator state of *device*."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the generator state of every device."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    BOARDS.generators[BOARDS.current()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for generator in BOARDS.generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device with a number from the system."""
    BOARDS.generators[BOARDS.current()].seed()


def seed_all() -> None:
    """Seed the generators of all devices with one number from the system."""
    manual_seed_all(BOARDS.generators[BOARDS.current()].seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return BOARDS.generators[BOARDS.current()].initial_seed()
