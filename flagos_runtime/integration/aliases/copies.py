"""Copies of replaced names that modules made with ``from torch import name``."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.ledger import namespace_of

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

log = logging.getLogger(__name__)

#: Our own modules keep originals on purpose, and `torch._C` is where originals come from.
_LEFT_ALONE = ("flagos_runtime", "torch._C")


def install(context: Context, step: StepSpec) -> None:
    """Replace each copy of an original in the modules that are loaded by what replaced the original."""
    # the originals are kept in the table: an id is worth nothing once its object is gone
    replaced = {id(old): (old, new) for old, new in context.ledger.replacements()}
    for module, key, new in tuple(_copies(replaced)):
        if not context.ledger.writers(sys.modules[module], key):  # an original that we keep there ourselves
            context.ledger.install_item(_namespace(sys.modules[module]), key, new, by=step.id, label=module)
            log.debug("%s.%s is a copy of a replaced name", module, key)


def install_builtins(context: Context, step: StepSpec) -> None:
    """Tell TorchScript that a replacement is the builtin that its original is; its table goes by identity."""
    table: MutableMapping[Any, Any] = torch.jit._builtins._get_builtin_table()
    for old, new in tuple(context.ledger.replacements()):
        if id(old) in table:
            context.ledger.install_item(table, id(new), table[id(old)], by=step.id, label=step.target)


def install_constructors(context: Context, step: StepSpec) -> None:
    """Let ``with torch.device(...)`` know the originals of replaced factories.

    Those still call it under their own identity.
    """
    module: Any = import_module("torch.utils._device")
    stock, originals = module._device_constructors, {old for old, _ in context.ledger.replacements() if callable(old)}

    @functools.lru_cache(1)
    def _device_constructors() -> set[Any]:
        return stock() | {old for old in originals if getattr(old, "__name__", "") in _names(stock())}

    context.ledger.install(module, "_device_constructors", _device_constructors, by=step.id)


def _names(functions: set[Any]) -> set[str]:
    return {getattr(function, "__name__", "") for function in functions}


def _copies(replaced: dict[int, tuple[object, object]]) -> Iterator[tuple[str, str, object]]:
    for name, module in tuple(sys.modules.items()):
        if name.startswith(_LEFT_ALONE):
            continue
        for key, value in tuple(_namespace(module).items()):
            if id(value) in replaced:
                yield name, key, replaced[id(value)][1]


def _namespace(module: object) -> MutableMapping[str, Any]:
    """Return a module's dictionary without asking the module, some of which raise on any attribute."""
    try:
        found = namespace_of(module)
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}
