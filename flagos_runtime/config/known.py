"""The names that a route file may use on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from flagos_runtime.config.traits import Traits
from flagos_runtime.records import BackendTable


def _untold(_: str) -> Traits | None:
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """Names that a route file is checked against.

    Attributes:
        platforms: names of the platforms that a plugin describes.
        probes: dotted targets of torch that may be redirected, and asked in a condition.
        patches: ids of registered patches.
        backends: names of operator backends.
        overloads: ``aten::name.overload`` of the installed torch; ``None`` without torch, then none is checked.
        tables: what backends have kernels of, by their names; one that is missing is not checked.
        traits: gives what an overload does beside computing, ``None`` where that is not known.
        vendors: words by which an upstream conf names the vendor's own kernel.
    """

    platforms: frozenset[str]
    probes: frozenset[str]
    patches: frozenset[str]
    backends: frozenset[str]
    overloads: frozenset[str] | None
    tables: Mapping[str, BackendTable] = field(default_factory=lambda: MappingProxyType({}))
    traits: Callable[[str], Traits | None] = _untold
    vendors: frozenset[str] = frozenset()

    def serves(self, backend: str, overload: str) -> bool:
        """Tell whether *backend* may serve *overload*: false where its packages are installed and have no kernel."""
        table = self.tables.get(backend)
        return table is None or not table.available or overload in (table.overloads or {overload})
