"""The names that a route file may use on this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """Names that a route file is checked against.

    Attributes:
        platforms: names of the platforms that a plugin describes.
        probes: dotted targets of torch that may be redirected, and asked in a condition.
        patches: ids of registered patches.
        backends: names of operator backends.
        overloads: ``aten::name.overload`` of the installed torch; ``None`` without torch, then none is checked.
    """

    platforms: frozenset[str]
    probes: frozenset[str]
    patches: frozenset[str]
    backends: frozenset[str]
    overloads: frozenset[str] | None
