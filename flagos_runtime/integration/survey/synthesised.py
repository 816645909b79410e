"""Calls made up from the schema of an overload, for what no entry of torch's operator database reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import torch

from flagos_runtime.integration.survey.calls import Call, spread


class Profile(NamedTuple):
    """The shape that tensors of a call have, and how they are laid out."""

    name: str
    shape: tuple[int, ...]
    gaps: bool = False


def profiles(largest: int) -> tuple[Profile, ...]:
    """Return the profiles that are tried; the large one has *largest* elements."""
    return (
        Profile("2d", (5, 7)),
        Profile("1d", (17,)),
        Profile("gaps", (5, 7), gaps=True),
        Profile("empty", (0, 3)),
        Profile("0d", ()),
        Profile("large", (2, largest // 2)),
        Profile("3d", (2, 5, 4)),
        Profile("4d", (2, 3, 6, 6)),
    )


def synthesised(op: torch._ops.OpOverload, profile: Profile, dtype: torch.dtype, seed: int) -> Call | None:
    """Return a call of *op*, ``None`` where its schema asks for something that has no sensible value of its own."""
    maker = _Maker(op, profile, dtype, seed)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in op._schema.arguments:
        if argument.is_out:
            kwargs[argument.name] = torch.empty(0, dtype=dtype)
            continue
        value = maker.value(argument)
        if value is _NOTHING:
            return None
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return Call(tuple(args), kwargs)


_NOTHING: Final = object()
_INDICES: Final = frozenset({"index", "indices", "target", "offsets", "batch2", "sorted_indices"} - {"batch2"})
_MASKS: Final = frozenset({"mask", "condition"})
_DIMENSIONS: Final = frozenset({"dim", "dim0", "start_dim", "axis"})


class _Maker:
    """Makes arguments by their types and names."""

    def __init__(self, op: torch._ops.OpOverload, profile: Profile, dtype: torch.dtype, seed: int) -> None:
        self.op = op
        self.profile = profile
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(seed)
        self.makers: dict[str, Callable[[Any], Any]] = {
            "Tensor": self._tensor,
            "List[Tensor]": lambda argument: [self._tensor(argument), self._tensor(argument)],
            "number": lambda argument: 2 if not self.dtype.is_floating_point else 1.5,
            "int": self._integer,
            "SymInt": self._integer,
            "List[int]": self._integers,
            "List[SymInt]": self._integers,
            "bool": lambda _: False,
            "float": lambda argument: 0.5 if argument.name != "eps" else 1e-5,
            "Device": lambda _: torch.device("cpu"),
        }

    def value(self, argument: Any) -> Any:
        kind = str(argument.type)
        if argument.has_default_value() and kind != "Optional[Device]":
            return argument.default_value
        if kind == "Optional[Device]":
            return torch.device("cpu")
        if kind.startswith("Optional["):
            return None
        maker = self.makers.get(kind)
        return maker(argument) if maker is not None else _NOTHING

    def _tensor(self, argument: Any) -> torch.Tensor:
        shape = self.profile.shape
        if argument.name in _INDICES:
            most = min(shape, default=1) or 1
            return torch.randint(0, most, shape, generator=self.generator)
        if argument.name in _MASKS:
            return torch.randint(0, 2, shape, generator=self.generator).bool()
        made = numbers(shape, self.dtype, self.generator)
        return spread(made) if self.profile.gaps else made

    def _integer(self, argument: Any) -> int:
        if argument.name in _DIMENSIONS:
            return len(self.profile.shape) - 1 if self.profile.shape else 0
        return 1

    def _integers(self, argument: Any) -> list[int]:
        if argument.name in {"size", "shape", "sizes", "normalized_shape"}:
            return list(self.profile.shape[-1:] if argument.name == "normalized_shape" else self.profile.shape)
        if argument.name in {"dims", "dim"}:
            return [0] if self.profile.shape else []
        return [1] * max(len(self.profile.shape), 1)


def numbers(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Return numbers of both signs, small enough for every dtype."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_complex:
        parts = torch.randn(*shape, 2, generator=generator)
        return torch.view_as_complex(parts).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(-9, 10, shape, generator=generator, dtype=dtype)
    return (torch.randn(shape, generator=generator) * 2).to(dtype)


def derived(op: torch._ops.OpOverload, base: torch._ops.OpOverload, call: Call) -> Call | None:
    """Return the call of *op* that does what *call* does by *base*: in place, or into tensors that are given."""
    outs = [argument.name for argument in op._schema.arguments if argument.is_out]
    if not outs:
        return call
    try:
        result = call.of(base)
    except Exception:  # noqa: BLE001 - the database's own call; another one will do
        return None
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(outs) or not all(isinstance(item, torch.Tensor) for item in results):
        return None
    made = {name: torch.empty_like(item) for name, item in zip(outs, results, strict=True)}
    return Call(call.args, {**call.kwargs, **made})


def bases(op: torch._ops.OpOverload) -> Iterator[torch._ops.OpOverload]:
    """Yield functional overloads with the same arguments: what an in-place or ``out=`` overload is a form of."""
    wanted = [argument.name for argument in op._schema.arguments if not argument.is_out]
    name = op._schema.name.removeprefix("aten::")
    for packet_name in dict.fromkeys((name.removesuffix("_"), name)):
        packet = getattr(torch.ops.aten, packet_name, None)
        for overload in packet.overloads() if packet is not None else ():
            base = getattr(packet, overload)
            names = [argument.name for argument in base._schema.arguments]
            if base is not op and names == wanted and not base._schema.is_mutable:
                yield base
