"""What each operator backend serves on this machine, asked of the backend itself and at most once a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module

from flagos_runtime.config.overloads import canonical
from flagos_runtime.records import BackendTable, OpBackend


@lru_cache(maxsize=1)
def tables_of(backends: tuple[OpBackend, ...]) -> Callable[[str], BackendTable]:
    """Return a look-up of tables by the backend's name; a table is read when it is first asked for."""
    known = {item.name: item for item in backends}

    @cache
    def look_up(name: str) -> BackendTable:
        backend = known.get(name)
        return _table(backend) if backend is not None else BackendTable(False, f"no backend is called '{name}'")

    return look_up


def _table(backend: OpBackend) -> BackendTable:
    if not backend.table:
        return BackendTable(True, backend.summary)
    module, _, function = backend.table.partition(":")
    try:
        found = getattr(import_module(module), function)()
    except Exception as exc:  # noqa: BLE001 - a plugin's code, and one broken backend must not cost the others
        return BackendTable(False, f"its table could not be read: {type(exc).__name__}: {exc}")
    if not isinstance(found, BackendTable):
        return BackendTable(False, f"its table is {type(found).__name__}, wanted BackendTable")
    return found if found.overloads is None else replace(found, overloads=frozenset(map(canonical, found.overloads)))
