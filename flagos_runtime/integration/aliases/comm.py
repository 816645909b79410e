"""Copies between boards that `torch.nn.parallel.comm` leaves to functions of CUDA builds."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagos_runtime.integration.aliases.names import Names
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install(context: Context, step: StepSpec) -> None:
    """Put a version made of tensor methods at the step's target."""
    owner, name = locate(step.target)
    stock, names = getattr(owner, name), context.names(step)
    portable = _PORTABLE[name]

    @functools.wraps(stock)
    def function(*args: Any, **kwargs: Any) -> Any:
        return portable(names, *args, **kwargs) if names.live.on else stock(*args, **kwargs)

    context.ledger.install(owner, name, function, by=step.id)


def _place(names: Names, device: Any) -> torch.device:
    return names.of_index(device) if isinstance(device, int) else names.device(torch.device(device))


def _broadcast(
    names: Names,
    tensor: torch.Tensor,
    devices: Sequence[Any] | None = None,
    *,
    out: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, ...]:
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is not None:
        return tuple(target.copy_(tensor) for target in out)
    return tuple(tensor.to(_place(names, device)) for device in devices or ())


def _broadcast_coalesced(
    names: Names, tensors: Sequence[torch.Tensor], devices: Sequence[Any], buffer_size: int = 10485760
) -> list[list[torch.Tensor]]:
    return [[tensor.to(_place(names, device)) for tensor in tensors] for device in devices]


def _scatter(
    names: Names,
    tensor: torch.Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: object = None,
    *,
    out: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, ...]:
    if out is not None:
        pieces = tensor.split([piece.size(dim) for piece in out], dim)
        return tuple(target.copy_(piece) for target, piece in zip(out, pieces, strict=True))
    places = [_place(names, device) for device in devices or ()]
    pieces = tensor.split(list(chunk_sizes), dim) if chunk_sizes is not None else tensor.chunk(len(places), dim)
    return tuple(piece.to(place) for piece, place in zip(pieces, places, strict=False))


def _gather(
    names: Names,
    tensors: Sequence[torch.Tensor],
    dim: int = 0,
    destination: Any = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if out is not None:
        return out.copy_(torch.cat([tensor.to(out.device) for tensor in tensors], dim))
    place = torch._C.device("cpu") if destination == -1 else _place(names, 0 if destination is None else destination)
    return torch.cat([tensor.to(place) for tensor in tensors], dim)


_PORTABLE: dict[str, Callable[..., Any]] = {
    "broadcast": _broadcast,
    "broadcast_coalesced": _broadcast_coalesced,
    "scatter": _scatter,
    "gather": _gather,
}
