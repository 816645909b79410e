"""Autocast and gradient scaling, whose functions name their device by type."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.aliases.names import translating
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

#: Where each function takes its device type by position, and its keyword.
DEVICE_TYPES: dict[str, tuple[int | None, str]] = {
    # all three names of autocast are one class or derive from it
    "torch.amp.autocast_mode.autocast.__init__": (1, "device_type"),
    "torch.amp.grad_scaler.GradScaler.__init__": (1, "device"),
    "torch.amp.custom_fwd": (None, "device_type"),
    "torch.amp.custom_bwd": (None, "device_type"),
    "torch.amp.is_autocast_available": (0, "device_type"),
    "torch.get_autocast_dtype": (0, "device_type"),
    "torch.set_autocast_dtype": (0, "device_type"),
}


def install_device_type(context: Context, step: StepSpec) -> None:
    """Let the device type of the step's target be read as the alias means it."""
    owner, name = locate(step.target)
    position, keyword = DEVICE_TYPES[step.target]
    wrapper = translating(getattr(owner, name), context.names(step).device_type, position=position, keyword=keyword)
    context.ledger.install(owner, name, wrapper, by=step.id)


def install_flag(context: Context, step: StepSpec) -> None:
    """Let ``is_autocast_enabled`` and ``set_autocast_enabled`` mean the canonical device where they mean CUDA.

    Without a device type both mean CUDA, in torch's own code too.
    """
    owner, name = locate(step.target)
    stock, names = getattr(owner, name), context.names(step)
    takes = 0 if name.startswith("is_") else 1

    @functools.wraps(stock)
    def flag(*args: Any, **kwargs: Any) -> Any:
        if names.live.on and len(args) + len(kwargs) == takes:
            args = (names.name, *args)
        if args:
            args = (names.device_type(args[0]), *args[1:])
        return stock(*args, **kwargs)

    context.ledger.install(owner, name, flag, by=step.id)


def install_gpu_dtype(context: Context, step: StepSpec) -> None:
    """Let the functions that say "gpu" for CUDA mean the canonical device."""
    names = context.names(step)
    stock_get, stock_set = torch.get_autocast_gpu_dtype, torch.set_autocast_gpu_dtype

    @functools.wraps(stock_get)
    def get_autocast_gpu_dtype() -> torch.dtype:
        return torch.get_autocast_dtype(names.canonical) if names.live.on else stock_get()

    @functools.wraps(stock_set)
    def set_autocast_gpu_dtype(dtype: torch.dtype) -> None:
        torch.set_autocast_dtype(names.canonical, dtype) if names.live.on else stock_set(dtype)

    context.ledger.install(torch, "get_autocast_gpu_dtype", get_autocast_gpu_dtype, by=step.id)
    context.ledger.install(torch, "set_autocast_gpu_dtype", set_autocast_gpu_dtype, by=step.id)


def install_cuda_custom(context: Context, step: StepSpec) -> None:
    """Let ``torch.cuda.amp.custom_fwd`` and ``custom_bwd`` use what stands in ``torch.amp`` now.

    They hold torch's own functions by value.
    """
    owner, name = locate(step.target)
    stock, names = getattr(owner, name), context.names(step)

    @functools.wraps(stock)
    def custom(*args: Any, **kwargs: Any) -> Any:
        if not names.live.on:
            return stock(*args, **kwargs)
        return getattr(torch.amp, name)(*args, **{"device_type": names.canonical} | kwargs)

    context.ledger.install(owner, name, custom, by=step.id)
