"""The steps that make the device: its name, its C++ side, its kernels and its module."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.errors import ActivationError
from flagos_runtime.integration.device import farewell, guard, kernels, storage
from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.module import build_module, dormant_module
from flagos_runtime.integration.routing.library import fall_through, register_kernels
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install_name(context: Context, step: StepSpec) -> None:
    """Name PrivateUse1 after the device.

    Raises:
        ActivationError: another backend has given it a name, which torch allows once in a process.
    """
    owner = torch._C._get_privateuse1_backend_name()
    if owner not in {"privateuseone", DEVICE_TYPE}:
        raise ActivationError(
            f"the dispatch key PrivateUse1 belongs to '{owner}' in this process and can have one owner; "
            f"use that backend's own platform, or keep it from being loaded (TORCH_DEVICE_BACKEND_AUTOLOAD=0)"
        )
    torch.utils.rename_privateuse1_backend(DEVICE_TYPE)
    context.ledger.one_way(step.target)
    if not hasattr(torch, DEVICE_TYPE):
        torch._register_device_module(DEVICE_TYPE, dormant_module())
        context.ledger.one_way(f"torch.{DEVICE_TYPE}")


def install_guard(context: Context, step: StepSpec) -> None:
    """Power the boards on and register hooks and device guard."""
    count, capacity = (
        context.environment.integer("FLAGOS_SIM_DEVICES"),
        context.environment.integer("FLAGOS_SIM_MEMORY"),
    )
    BOARDS.power_on(count, capacity)
    guard.register(count)
    farewell.register()
    guard.set_available(True)
    context.ledger.one_way(step.target)
    context.ledger.adopt(f"{step.target}.is_available", lambda: guard.set_available(False), by=step.id)


def install_kernels(context: Context, step: StepSpec) -> None:
    """Register a kernel for each overload that the device needs one for."""
    context.kernels.update(kernels.all_kernels())
    register_kernels(context.ledger, "PrivateUse1", context.kernels, by=step.id)


def install_lazy_bits(context: Context, step: StepSpec) -> None:
    """Let copies see conjugated and negated tensors as they are."""
    for key in ("Conjugate", "Negative"):
        register_kernels(context.ledger, key, storage.LAZY_BITS, by=step.id)


def install_autocast(context: Context, step: StepSpec) -> None:
    """Let operators run under autocast; those that it casts have kernels of their own."""
    fall_through(context.ledger, "AutocastPrivateUse1", by=step.id)


def install_module(context: Context, step: StepSpec) -> None:
    """Publish ``torch.flagos``."""
    module = build_module()
    context.ledger.install(torch, DEVICE_TYPE, module, by=step.id)
    context.ledger.install_item(sys.modules, module.__name__, module, by=step.id, label="sys.modules")


def install_accelerator(context: Context, step: StepSpec) -> None:
    """Let a function of ``torch.accelerator`` that asks for a C++ allocator ask the device module."""
    owner, name = locate(step.target)
    if not hasattr(owner, name):
        return
    own, live, stock = getattr(context.device_module, _RENAMED.get(name, name)), context.live, getattr(owner, name)

    @functools.wraps(stock)
    def function(*args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs) if live.on else stock(*args, **kwargs)

    context.ledger.install(owner, name, function, by=step.id)


_RENAMED = {"get_memory_info": "mem_get_info"}
