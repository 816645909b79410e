"""Whether a call looks like the ones that a route is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: Arguments that say where and not what: their dtype and shape are not the operands'.
_PLACES: Final = frozenset({"index", "indices", "mask", "condition", "offsets", "offset2bag", "bag_size", "out"})


def operands_of(op: torch._ops.OpOverload) -> Callable[[Sequence[Any], Mapping[str, Any]], list[torch.Tensor]]:
    """Return a function that lists the operands among a call's arguments: its tensors, without indices and masks."""
    names = [argument.name for argument in op._schema.arguments]
    wanted = [at for at, name in enumerate(names) if name not in _PLACES]

    def operands(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
        values = [args[at] for at in wanted if at < len(args)]
        values += [value for name, value in kwargs.items() if name not in _PLACES]
        return list(_tensors(values))

    return operands


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(item for item in value if isinstance(item, torch.Tensor))
    return found


def guard_of(
    op: torch._ops.OpOverload, wanted: Mapping[str, object]
) -> Callable[[Sequence[Any], Mapping[str, Any]], bool] | None:
    """Return whether a call matches *wanted*; ``None`` where every call does.

    Every operand has to have one of ``dtypes`` and to be ``contiguous``; ``min_ndim`` and ``min_numel`` hold for the
    greatest operand, ``max_ndim`` and ``max_numel`` for each. Only metadata is looked at.
    """
    checks = [_CHECKS[name](value) for name, value in wanted.items()]
    if not checks:
        return None
    operands = operands_of(op)

    def matches(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        tensors = operands(args, kwargs)
        return all(check(tensors) for check in checks)

    return matches


def _dtypes(names: Any) -> Callable[[list[torch.Tensor]], bool]:
    dtypes = frozenset(getattr(torch, name) for name in names)
    return lambda tensors: all(tensor.dtype in dtypes for tensor in tensors)


def takes_of(without: Sequence[str]) -> Callable[[Sequence[Any], Mapping[str, Any]], bool] | None:
    """Return whether a call has nothing to do with the dtypes *without*; ``None`` where that is every call.

    Tensors, those in lists, numbers, and arguments that are a dtype are looked at.
    """
    dtypes = frozenset(getattr(torch, name) for name in without)
    if not dtypes:
        return None
    number = complex if torch.complex128 in dtypes else ()

    def fits(value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return value.dtype not in dtypes
        if isinstance(value, (list, tuple)):
            return all(map(fits, value))
        return value not in dtypes if isinstance(value, torch.dtype) else not isinstance(value, number)

    return lambda args, kwargs: all(map(fits, args)) and all(map(fits, kwargs.values()))


_CHECKS: Final[dict[str, Callable[[Any], Callable[[list[torch.Tensor]], bool]]]] = {
    "dtypes": _dtypes,
    "min_ndim": lambda least: lambda tensors: any(tensor.dim() >= least for tensor in tensors),
    "max_ndim": lambda most: lambda tensors: all(tensor.dim() <= most for tensor in tensors),
    "min_numel": lambda least: lambda tensors: any(tensor.numel() >= least for tensor in tensors),
    "max_numel": lambda most: lambda tensors: all(tensor.numel() <= most for tensor in tensors),
    "contiguous": lambda wanted: lambda tensors: all(tensor.is_contiguous() == wanted for tensor in tensors),
}
