"""Kernels that answer a request for a CUDA tensor with a tensor on the canonical device.

A factory's dispatch key comes from its ``device`` argument. With these kernels on the CUDA key, names bound before
activation, C++ callers and every thread are served alike, and calls that name another device cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.routing.library import register_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagos_runtime.integration.aliases.names import Names
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_COMPOSITE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


def install(context: Context, step: StepSpec) -> None:
    """Register the kernels for the CUDA key."""
    kernels = {name: _redirected(name, context.names(step)) for name in overloads()}
    register_kernels(context.ledger, "CUDA", kernels, by=step.id)


def overloads() -> tuple[str, ...]:
    """Return the overloads that make a tensor from a ``device`` argument alone and have a kernel for each device."""
    return tuple(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and _is_factory(name))


def _is_factory(name: str) -> bool:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if not has(name, "CPU") or any(has(name, key) for key in _COMPOSITE):
        return False
    base, _, overload = name.partition(".")
    arguments = torch._C._get_schema(base, overload).arguments
    return any(item.name == "device" for item in arguments) and not any("Tensor" in str(item.type) for item in arguments)


def _redirected(name: str, names: Names) -> Callable[..., Any]:
    packet, _, overload = name.removeprefix("aten::").partition(".")

    def kernel(*args: Any, device: torch.device | None = None, **kwargs: Any) -> Any:
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        return op(*args, device=names.of_index(None if device is None else device.index), **kwargs)

    return kernel
