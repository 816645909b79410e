"""Kernels that answer a request for a CUDA tensor with a tensor on the canonical device.

A factory's dispatch key comes from its ``device`` argument. With these kernels on the CUDA key, names bound before
activation, C++ callers and every thread are served alike, and calls that name another device cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.routing.library import dense_overloads, overload_of, register_kernels, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagos_runtime.integration.aliases.names import Names
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install(context: Context, step: StepSpec) -> None:
    """Register the kernels for the CUDA key."""
    kernels = {name: _redirected(name, context.names(step)) for name in overloads()}
    register_kernels(context.ledger, "CUDA", kernels, by=step.id)


def overloads() -> tuple[str, ...]:
    """Return the overloads that make a tensor from a ``device`` argument alone and have a kernel for each backend."""
    return tuple(name for name in dense_overloads() if _is_factory(schema_of(name).arguments))


def _is_factory(arguments: list[torch._C.Argument]) -> bool:
    names = [item.name for item in arguments]
    return "device" in names and not any("Tensor" in str(item.type) for item in arguments)


def _redirected(name: str, names: Names) -> Callable[..., Any]:
    def kernel(*args: Any, device: torch.device | None = None, **kwargs: Any) -> Any:
        return overload_of(name)(*args, device=names.of_index(None if device is None else device.index), **kwargs)

    return kernel
