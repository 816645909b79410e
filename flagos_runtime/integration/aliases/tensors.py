"""Methods of tensors, storages and modules that resolve a device before they reach the dispatcher."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.aliases.names import STOCK_DEVICE, Names, translating
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install_device_argument(context: Context, step: StepSpec) -> None:
    """Let the ``device`` argument of the step's target be read as the alias means it."""
    owner, name = locate(step.target)
    stock = getattr(owner, name)
    wrapper = translating(stock, context.names(step).device, position=POSITIONS.get(step.target))
    context.ledger.install(owner, name, wrapper, by=step.id)


#: Where each function takes its device by position; ``None`` where it is a keyword alone.
POSITIONS: dict[str, int | None] = {
    "torch.Tensor.to": 1,
    "torch.Tensor.new_tensor": None,
    "torch.Tensor.pin_memory": 1,
    "torch.Tensor.is_pinned": 1,
    "torch.tensor": None,
    "torch.as_tensor": 2,
    "torch.asarray": None,
    "torch.sparse_coo_tensor": None,
    "torch.sparse_compressed_tensor": None,
    "torch.sparse_csr_tensor": None,
    "torch.sparse_csc_tensor": None,
    "torch.sparse_bsr_tensor": None,
    "torch.sparse_bsc_tensor": None,
    "torch.nested.nested_tensor": None,
    "torch.nested.as_nested_tensor": None,
    "torch.UntypedStorage.to": None,
    "torch.nn.Module.to": 1,
    "torch.get_device_module": 0,
}


def install_cuda(context: Context, step: StepSpec) -> None:
    """Let ``Tensor.cuda`` move to the canonical device."""
    stock = torch.Tensor.cuda
    context.ledger.install(torch.Tensor, "cuda", _mover(stock, context.names(step)), by=step.id)


def _mover(stock: Any, names: Names) -> Any:
    @functools.wraps(stock)
    def cuda(
        self: torch.Tensor,
        device: Any = None,
        non_blocking: bool = False,  # noqa: FBT001, FBT002 - torch's signature
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        if not names.live.on:
            return stock(self, device, non_blocking, memory_format=memory_format)
        return self.to(_own_kind(names, device), non_blocking=non_blocking, memory_format=memory_format)

    return cuda


def _own_kind(names: Names, device: Any) -> Any:
    """Return the canonical device that *device* names.

    Raises:
        RuntimeError: *device* is of another type, as `Tensor.cuda` has it.
    """
    if device is None or isinstance(device, int):
        return names.of_index(device)
    named = names.device(STOCK_DEVICE(device))
    if named.type != names.canonical:
        raise RuntimeError(f"Invalid device, must be {names.name} device")
    return named


def install_storage_cuda(context: Context, step: StepSpec) -> None:
    """Let ``UntypedStorage.cuda`` move to the canonical device."""
    names, stock = context.names(step), torch.UntypedStorage.cuda

    @functools.wraps(stock)
    def cuda(self: torch.UntypedStorage, device: Any = None, non_blocking: bool = False) -> Any:  # noqa: FBT001, FBT002
        if not names.live.on:
            return stock(self, device, non_blocking)
        return self.to(device=_own_kind(names, device), non_blocking=non_blocking)

    context.ledger.install(torch.UntypedStorage, "cuda", cuda, by=step.id)


def install_is_cuda(context: Context, step: StepSpec) -> None:
    """Let ``is_cuda`` be true for tensors of the canonical device."""
    owner, name = locate(step.target)
    stock, canonical, live = getattr(owner, name), context.device_type, context.live

    def is_cuda(self: Any) -> bool:
        return (live.on and self.device.type == canonical) or bool(stock.__get__(self))

    context.ledger.install(owner, name, property(is_cuda, doc=stock.__doc__), by=step.id)


def install_type(context: Context, step: StepSpec) -> None:
    """Let ``Tensor.type`` take CUDA's type names and types."""
    names, stock = context.names(step), torch.Tensor.type

    @functools.wraps(stock)
    def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        element = cuda_type_element(dtype) if names.live.on else None
        if element is None:
            return stock(self, dtype, non_blocking, **kwargs) if dtype is not None else stock(self)
        return self.to(names.of_index(None), element, non_blocking=non_blocking)

    context.ledger.install(torch.Tensor, "type", type_, by=step.id)


def cuda_type_element(wanted: Any) -> torch.dtype | None:
    """Return the dtype of a CUDA tensor type or its name, ``None`` for anything else."""
    if isinstance(wanted, str):
        head, _, name = wanted.rpartition(".")
        return ELEMENTS.get(name) if head == "torch.cuda" else None
    is_type = isinstance(wanted, type) and getattr(wanted, "__module__", "") == "torch.cuda"
    return ELEMENTS.get(wanted.__name__) if is_type else None


ELEMENTS = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}
