"""The only place that creates `torch.library.Library` objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagos_runtime.ledger import Ledger


def register_kernels(ledger: Ledger, key: str, kernels: Mapping[str, Callable[..., object]], *, by: str) -> None:
    """Register *kernels* (``aten::name.overload`` -> function) for one dispatch key until the ledger restores.

    The C++ registration object is used directly: the bookkeeping of ``Library.impl`` costs more than all of activation
    and guards against clashes that the plan has already ruled out.
    """
    library = torch.library.Library("aten", "IMPL")
    ledger.adopt(f"dispatcher[{key}]", library._destroy, by=by)
    for name, kernel in kernels.items():
        library.m.impl(name.removeprefix("aten::"), key, kernel, False)  # type: ignore[union-attr] # set until destroyed


def fall_through(ledger: Ledger, key: str, *, by: str) -> None:
    """Let every operator pass *key* by where no kernel is registered for it, until the ledger restores."""
    library = torch.library.Library("_", "IMPL")
    ledger.adopt(f"dispatcher[{key}]", library._destroy, by=by)
    library.fallback(torch.library.fallthrough_kernel, key)
