"""Calls made up from the schema of an overload, for what no entry of torch's operator database reaches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import torch

from flagos_runtime.integration.survey.calls import HOST, Call, spread


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
        Profile("5d", (1, 2, 4, 4, 4)),
    )


class Synthesiser:
    """Makes calls of *op* from its schema, of arguments that the CPU takes.

    A schema does not say which shapes go together. Each argument has a few values that it may sensibly have, and for
    each profile such are combined, the plain ones first, until *is_valid* says yes.
    """

    def __init__(self, op: torch._ops.OpOverload, seed: int, is_valid: Callable[[Call], bool]) -> None:
        self._op = op
        self._seed = seed
        self._is_valid = is_valid
        self._plain = (0,) * len(op._schema.arguments)
        self._found: dict[str, tuple[int, ...]] = {}

    def call(self, profile: Profile, dtype: torch.dtype) -> Call | None:
        """Return a call with tensors like *profile*; ``None`` where none was found.

        One of float32 and one of int64 are looked for; what was found there serves the other dtypes.
        """
        known = self._found.get(profile.name)
        searched = known is None and dtype in {torch.float32, torch.int64}
        attempts = self._attempts() if searched else [known or self._plain]
        for choice in attempts:
            made = self._made(profile, dtype, choice)
            if made is not None and self._is_valid(made):
                self._found[profile.name] = choice
                return made
        return None

    def _attempts(self) -> Iterator[tuple[int, ...]]:
        yield self._plain
        choose = random.Random(self._seed)
        for _ in range(_ATTEMPTS):
            yield tuple(choose.randrange(_CHOICES) for _ in self._plain)

    def _made(self, profile: Profile, dtype: torch.dtype, choice: tuple[int, ...]) -> Call | None:
        values = _Values(profile, dtype, self._seed)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument, at in zip(self._op._schema.arguments, choice, strict=True):
            value = values.of(argument, at)
            if value is _NOTHING:
                return None
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return Call(tuple(args), kwargs)


_NOTHING: Final = object()
_ATTEMPTS: Final = 100
_CHOICES: Final = 6
_INDICES: Final = frozenset({"index", "indices", "target", "offsets", "sorted_indices"})
_MASKS: Final = frozenset({"mask", "condition"})
_SIZES: Final = frozenset({"size", "shape", "sizes", "normalized_shape", "output_size"})
_DIMENSIONS: Final = frozenset({"dim", "dim0", "start_dim", "axis"})


class _Values:
    """Values that an argument may have, by its type and name; the first is the plain one."""

    def __init__(self, profile: Profile, dtype: torch.dtype, seed: int) -> None:
        self.shape = profile.shape
        self.gaps = profile.gaps
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(seed)

    def of(self, argument: Any, at: int) -> Any:
        """Return value number *at* of *argument*; numbers beyond the last begin again."""
        if argument.is_out:
            return torch.empty(0, dtype=self.dtype)
        kind = str(argument.type)
        if kind == "Optional[Device]":
            return HOST
        if kind.startswith("Optional[") or argument.has_default_value():
            plain = argument.default_value if argument.has_default_value() else None
            inner = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional[") else kind
            # most calls leave out what may be left out
            return plain if at < _CHOICES // 2 or inner in _LEFT_OUT else self._chosen(argument, inner, at)
        return self._chosen(argument, kind, at)

    def _chosen(self, argument: Any, kind: str, at: int) -> Any:
        maker = _MAKERS.get(kind)
        if maker is None:
            return _NOTHING
        found = maker(self, argument)
        return found[at % len(found)]() if callable(found[0]) else found[at % len(found)]

    def tensors(self, argument: Any) -> list[Callable[[], torch.Tensor]]:
        shape = self.shape
        shapes = dict.fromkeys((shape, shape[-1:], shape[:-1], shape[1:2], shape[::-1], (shape[-1:] * 2)))
        if argument.name in _INDICES:
            return [partial(self._indices, item) for item in (shape, shape[:-1], shape[:1])]
        if argument.name in _MASKS:
            return [lambda: torch.randint(0, 2, shape, generator=self.generator).bool()]
        return [partial(self._numbers, item) for item in shapes]

    def _indices(self, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randint(0, min(self.shape, default=1) or 1, shape, generator=self.generator)

    def _numbers(self, shape: tuple[int, ...]) -> torch.Tensor:
        made = numbers(shape, self.dtype, self.generator)
        return spread(made) if self.gaps else made

    def integers(self, argument: Any) -> list[int]:
        last = max(len(self.shape) - 1, 0)
        if argument.name.startswith("num_"):  # how many there are of what indices point at
            return [max(self.shape, default=1)]
        return [last, 0] if argument.name in _DIMENSIONS else [1, 0, 2, *self.shape[:1], *self.shape[-1:]]

    def lists(self, argument: Any) -> list[list[int]]:
        dims = len(self.shape)
        inner = max(dims - 2, 0)
        if argument.name in _SIZES:
            return [list(self.shape), list(self.shape[-1:]), [3] * inner, [8] * inner]
        if argument.name in {"dims", "dim"}:
            return [[0] if dims else [], [max(dims - 1, 0)]]
        return [[1] * max(dims, 1), [1] * inner, [2] * inner, [1] * 2 * inner, [0] * inner, [1, 1]]

    def scalars(self, _: Any) -> list[float]:
        return [1.5, 0.5, 3.0] if self.dtype.is_floating_point else [2, 1, 3]


#: What is left at its default: values of these types say where and in what form, and not what.
_LEFT_OUT: Final = frozenset({"ScalarType", "Layout", "MemoryFormat", "Generator", "str"})
_MAKERS: Final[dict[str, Callable[[_Values, Any], Any]]] = {
    "Tensor": _Values.tensors,
    "List[Tensor]": lambda values, argument: [lambda: [values.tensors(argument)[0]() for _ in range(2)]],
    "List[Optional[Tensor]]": lambda values, _: [lambda: [values._indices(values.shape[:1])]],
    "number": _Values.scalars,
    "int": _Values.integers,
    "SymInt": _Values.integers,
    "List[int]": _Values.lists,
    "List[SymInt]": _Values.lists,
    "bool": lambda *_: [False, True],
    "float": lambda _, argument: [1e-5] if argument.name == "eps" else [0.5, 1.0, 2.0],
    "str": lambda *_: ["same", "valid", "mean"],
    "Device": lambda *_: [HOST],
}


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
