"""Kernels that other libraries register for CUDA run for tensors of the canonical device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.routing.library import Mirror

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

#: The key that a kernel is registered for, and what goes before the canonical device's key in its place.
_MIRRORED = {"CUDA": "", "AutogradCUDA": "Autograd"}

#: Torch's own operators: their CUDA kernels are written for CUDA hardware.
_TORCHS_OWN = frozenset({"_", "_native", "aten", "inductor", "prim", "prims", "quantized"})


def install(context: Context, step: StepSpec) -> None:
    """Let ``Library.impl`` for the CUDA key register for the canonical device's key too.

    A kernel that somebody registers for that key itself goes before: it comes later and replaces the mirrored one, or
    it is there already and none is mirrored.
    """
    stock, live, key = torch.library.Library.impl, context.live, context.dispatch_key
    mirror = Mirror(context.ledger, by=step.id)

    @functools.wraps(stock)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        wanted, name = dispatch_key or self.dispatch_key, _qualified(self, op_name)
        if wanted in {key, f"Autograd{key}"}:
            mirror.release(name, wanted)
        result = stock(self, op_name, fn, dispatch_key, **kwargs)
        if live.on and wanted in _MIRRORED and self.ns not in _TORCHS_OWN:
            mirror.register(self, name, _MIRRORED[wanted] + key, fn, with_keyset=kwargs.get("with_keyset", False))
        return result

    context.ledger.install(torch.library.Library, "impl", impl, by=step.id)


def _qualified(library: Any, op_name: Any) -> str:
    name = op_name.name() if isinstance(op_name, torch._ops.OpOverload) else str(op_name)
    return name if "::" in name else f"{library.ns}::{name}"
