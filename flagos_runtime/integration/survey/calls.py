"""Calls of an overload as plain data: arguments that can be copied, moved and laid out anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch.utils._pytree import tree_map

HOST: Final = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments of one call, on the host.

    Attributes:
        args: positional ones.
        kwargs: the others.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def mapped(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        """Return the call with *change* made to each tensor."""
        args, kwargs = tree_map(lambda item: change(item) if isinstance(item, torch.Tensor) else item, self._both())
        return replace(self, args=args, kwargs=kwargs)

    def on(self, device: torch.device) -> Call:
        """Return a copy whose tensors, and whose device argument, are on *device*; strides are kept."""
        moved = self.mapped(lambda tensor: copied(tensor, device))
        return replace(moved, kwargs={name: _device(value, device) for name, value in moved.kwargs.items()})

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor among the arguments."""
        found: list[torch.Tensor] = []
        tree_map(lambda item: found.append(item) if isinstance(item, torch.Tensor) else None, self._both())
        return found

    def with_dtype(self, at: int, dtype: torch.dtype) -> Call:
        """Return the call with the tensor at place *at* of the positional ones in another *dtype*."""
        chosen = Call(self.args).tensors()[at]
        return self.mapped(lambda tensor: tensor.to(dtype) if tensor is chosen else tensor)

    def of(self, op: torch._ops.OpOverload) -> Any:
        """Call *op*."""
        return op(*self.args, **self.kwargs)

    def _both(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.args, dict(self.kwargs)


def _device(value: Any, device: torch.device) -> Any:
    return device if isinstance(value, torch._C.device) else value


def copied(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a copy of *tensor* on *device* with the same sizes and strides, without history."""
    tensor = tensor.detach()
    if not _is_strided(tensor):
        return tensor.clone().to(device)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if 0 in tensor.shape or extent > _WIDEST:
        return tensor.clone().to(device)
    memory = tensor.as_strided((extent,), (1,)).clone().to(device)
    return memory.as_strided(tensor.shape, tensor.stride(), 0)


#: Elements between the first and the last of a tensor beyond which it is copied as if it were contiguous.
_WIDEST: Final = 1 << 20


def _is_strided(tensor: torch.Tensor) -> bool:
    plain = tensor.layout == torch.strided and not tensor.is_conj() and not tensor.is_neg()
    return plain and not tensor.is_quantized and type(tensor) in {torch.Tensor, torch.nn.Parameter}


def spread(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values with a gap behind each element, so that nothing is contiguous."""
    if not _is_strided(tensor) or not tensor.dim():
        return tensor
    wide = tensor.new_zeros((*tensor.shape, 2))
    wide[..., 0] = tensor
    return wide[..., 0]
