"""Operators that allocate, copy or resize: where a flagos tensor gets its memory from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.boxing import boxed, host_of

if TYPE_CHECKING:
    from collections.abc import Callable

_aten = torch.ops.aten
_cpu_key = torch._C.DispatchKey.CPU


def index_for(device: torch.device | None) -> int:
    """Return the board for a new tensor; a device without index means the current board."""
    return BOARDS.current() if device is None or device.index is None else BOARDS.checked(device.index)


def _empty(
    size: list[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,  # noqa: FBT001 - ATen's signature
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    if pin_memory:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    index = index_for(device)
    host = _aten.empty.memory_format(size, dtype=dtype, layout=layout, device="cpu", memory_format=memory_format)
    return boxed(host, index)


def _empty_strided(
    size: list[int],
    stride: list[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,  # noqa: FBT001 - ATen's signature
) -> torch.Tensor:
    if pin_memory:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    index = index_for(device)
    return boxed(_aten.empty_strided.default(size, stride, dtype=dtype, layout=layout, device="cpu"), index)


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.device.type != DEVICE_TYPE else host_of(tensor)


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:  # noqa: FBT001, FBT002
    _on_host(target).copy_(_on_host(source))
    return target


def _copy_from_and_resize(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if source.shape != target.shape:
        target.resize_(source.shape)
    return _copy_from(source, target)


def _resize(self: torch.Tensor, size: list[int], memory_format: torch.memory_format | None = None) -> torch.Tensor:
    """Resize in place; where the storage is too small, move to a larger one that begins with the old elements."""
    host = torch.empty(0, dtype=self.dtype)
    offset = cast("int", self.storage_offset())  # no tensor of a board has a symbolic size
    needed = host.resize_(size).untyped_storage().nbytes() + offset * self.element_size()
    if needed > self.untyped_storage().nbytes():
        _move(self, _grown(self, needed))
    return _aten.resize_.default._op_dk(_cpu_key, self, size, memory_format=memory_format)


def _grown(tensor: torch.Tensor, size: int) -> torch.Tensor:
    old = host_of(_bytes_of(tensor))
    grown = torch.empty(size, dtype=torch.uint8)
    grown[: old.numel()] = old
    return boxed(grown, tensor.device.index)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _move(tensor: torch.Tensor, to: torch.Tensor) -> None:
    """Let *tensor* use the storage of *to*, with the sizes that it has."""
    _set_storage(tensor, to.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def _set_storage(tensor: torch.Tensor, storage: torch.UntypedStorage, offset: Any, size: Any, stride: Any) -> None:
    _aten.set_.source_Storage_storage_offset._op_dk(_cpu_key, tensor, storage, offset, size, stride)


def resizing(
    run: Callable[..., Any], index: int, args: list[Any], kwargs: dict[str, Any], outs: dict[str, torch.Tensor]
) -> None:
    """Run an ``out=`` overload whose outputs may have to grow.

    A host view of device memory cannot grow. An output that has to is computed into a tensor that can, whose storage
    the device tensor then takes, as it would take a larger allocation.
    """
    computed = {name: torch.empty(0, dtype=out.dtype) for name, out in outs.items() if out.numel() == 0}
    try:
        run(index, *args, **(kwargs | computed))
    except RuntimeError as exc:
        if "resizable" not in str(exc):
            raise
        computed = {name: torch.empty_strided(out.size(), out.stride(), dtype=out.dtype) for name, out in outs.items()}
        run(index, *args, **(kwargs | computed))
    for name, result in computed.items():
        _take(outs[name], result)


def _take(out: torch.Tensor, computed: torch.Tensor) -> None:
    if computed.shape == out.shape:
        host_of(out).copy_(computed)
        return
    carrier = boxed(computed, out.device.index)
    _set_storage(out, carrier.untyped_storage(), 0, carrier.size(), carrier.stride())


def _set_empty(self: torch.Tensor) -> torch.Tensor:
    _set_storage(self, boxed(torch.empty(0, dtype=self.dtype), self.device.index).untyped_storage(), 0, (0,), (1,))
    return self


def _set_whole(self: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    _set_storage(self, source, 0, (source.nbytes() // self.element_size(),), (1,))
    return self


KERNELS: dict[str, Callable[..., object]] = {
    "aten::empty.memory_format": _empty,
    "aten::empty_strided": _empty_strided,
    "aten::_copy_from": _copy_from,
    "aten::_copy_from_and_resize": _copy_from_and_resize,
    "aten::record_stream": lambda self, stream: None,  # memory is never reused before its work is done
    "aten::resize_": _resize,
    "aten::set_": _set_empty,
    "aten::set_.source_Storage": _set_whole,
}

#: Overloads that see conjugated and negated tensors as they are: `copy_` hands them on so, resolving them would copy.
LAZY_BITS: dict[str, Callable[..., object]] = {
    "aten::_copy_from": torch.library.fallthrough_kernel,
    "aten::_copy_from_and_resize": torch.library.fallthrough_kernel,
}
