"""Kernels that other libraries register for CUDA run for tensors of the canonical device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_MIRRORED = {"CUDA": "", "AutogradCUDA": "Autograd"}


def install(context: Context, step: StepSpec) -> None:
    """Let ``Library.impl`` for the CUDA key register for the canonical device's key too.

    A kernel that the library registers for that key itself goes before: it comes later and replaces the mirrored one, or
    it is there already and none is mirrored.
    """
    stock, live, key = torch.library.Library.impl, context.live, context.dispatch_key
    mirrored: set[str] = set()

    @functools.wraps(stock)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        result = stock(self, op_name, fn, dispatch_key, **kwargs)
        wanted = dispatch_key or self.dispatch_key
        if live.on and wanted in _MIRRORED and self.ns != "aten":
            _mirror(self, op_name, fn, _MIRRORED[wanted] + key, mirrored, kwargs)
        return result

    def _mirror(library: Any, op_name: Any, fn: Any, to: str, seen: set[str], kwargs: dict[str, Any]) -> None:
        name = op_name.name() if isinstance(op_name, torch._ops.OpOverload) else f"{library.ns}::{str(op_name).split('::')[-1]}"
        if name in seen or not torch._C._dispatch_has_kernel_for_dispatch_key(name, to):
            seen.add(name)
            library.m.impl(name, to, fn, kwargs.get("with_keyset", False))

    context.ledger.install(torch.library.Library, "impl", impl, by=step.id)
