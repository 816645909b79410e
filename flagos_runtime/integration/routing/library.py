"""The only place that creates `torch.library.Library` objects."""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagos_runtime.ledger import Ledger


_COMPOSITE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


@functools.cache
def dense_overloads() -> tuple[str, ...]:
    """Return the ATen overloads that each backend has its own kernel of, as ``aten::name.overload``.

    Those have one for CPU and none composite. The answer is kept: torch has the same ones for as long as the process
    lives.
    """
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = (name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    return tuple(name for name in names if has(name, "CPU") and not any(has(name, key) for key in _COMPOSITE))


def schema_of(name: str) -> torch._C.FunctionSchema:
    """Return the schema of ``aten::name.overload``."""
    packet, _, overload = name.partition(".")
    return torch._C._get_schema(packet, overload)


def overload_of(name: str) -> torch._ops.OpOverload:
    """Return the callable of ``aten::name.overload``."""
    packet, _, overload = name.removeprefix("aten::").partition(".")
    found: torch._ops.OpOverload = getattr(getattr(torch.ops.aten, packet), overload or "default")
    return found


def register_kernels(ledger: Ledger, key: str, kernels: Mapping[str, Callable[..., object]], *, by: str) -> None:
    """Register *kernels* (``aten::name.overload`` -> function) for one dispatch key until the ledger restores.

    The C++ registration object is used directly: the bookkeeping of ``Library.impl`` costs more than all of activation
    and guards against clashes that the plan has already ruled out.
    """
    library = torch.library.Library("aten", "IMPL")
    ledger.adopt(f"dispatcher[{key}]", library._destroy, by=by)
    with warnings.catch_warnings():
        # the dispatcher warns about the first of all overridden kernels; here that is what was asked for
        warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
        for name, kernel in kernels.items():
            library.m.impl(name.removeprefix("aten::"), key, kernel, False)  # type: ignore[union-attr] # set until destroyed


def fall_through(ledger: Ledger, key: str, *, by: str) -> None:
    """Let every operator pass *key* by where no kernel is registered for it, until the ledger restores."""
    library = torch.library.Library("_", "IMPL")
    ledger.adopt(f"dispatcher[{key}]", library._destroy, by=by)
    library.fallback(torch.library.fallthrough_kernel, key)


class Mirror:
    """Second registrations of other libraries' kernels; each ends with the library that made the first."""

    def __init__(self, ledger: Ledger, *, by: str) -> None:
        self._fragments: weakref.WeakKeyDictionary[torch.library.Library, dict[tuple[str, str], torch.library.Library]]
        self._fragments = weakref.WeakKeyDictionary()
        ledger.adopt("dispatcher[mirrored]", self._end, by=by)

    def register(
        self, owner: torch.library.Library, name: str, key: str, kernel: Callable[..., object], *, with_keyset: bool
    ) -> None:
        """Register *kernel* of *owner* for ``namespace::name.overload`` under *key*, unless somebody has one there."""
        self.release(name, key)
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
            return
        fragment = torch.library.Library(owner.ns, "IMPL")
        fragment.m.impl(name.partition("::")[2], key, kernel, with_keyset)  # type: ignore[union-attr] # as above
        self._fragments.setdefault(owner, {})[name, key] = fragment

    def release(self, name: str, key: str) -> None:
        """Take a mirrored kernel back, since its library registers one of its own."""
        for fragments in tuple(self._fragments.values()):
            if (name, key) in fragments:
                fragments.pop((name, key))._destroy()

    def _end(self) -> None:
        for fragments in tuple(self._fragments.values()):
            for fragment in fragments.values():
                fragment._destroy()


def kernel_keys(name: str) -> tuple[str, ...]:
    """Return the dispatch keys that have a kernel of their own for ``aten::name.overload``, none if it is unknown."""
    plain = name.removesuffix(".default")
    if plain not in torch._C._dispatch_get_all_op_names():
        return ()
    keys = ("CPU", "CUDA", "PrivateUse1", *_COMPOSITE, "Meta")
    return tuple(key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(plain, key))
