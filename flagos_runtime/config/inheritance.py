"""Platforms of a route file: whether their names are known, and who extends whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from flagos_runtime.config.excerpt import either, shown, suggestion
from flagos_runtime.config.source import Document
from flagos_runtime.diagnostics import Diagnostic

#: Value of the key `platform` that leaves the choice to detection.
DETECTED: Final = "auto"


def inheritance_findings(document: Document, platforms: frozenset[str]) -> Iterator[Diagnostic]:
    """Yield an error for each unknown platform, each unknown parent and each circle."""
    entries = document.value.get("platforms")
    parents = _parents(entries if isinstance(entries, Mapping) else {})
    yield from _chosen(document, platforms)
    for name in parents:
        yield from _name(document, name, parents, platforms)
        yield from _parent(document, name, parents, platforms)
    for circle in circles(parents):
        path = " extends ".join(shown(name) for name in (*circle, circle[0]))
        hint = f"take 'extends' out of {either(circle)}"
        yield document.at_value("FR109", ("platforms", circle[0], "extends"), f"{path}, so it has no beginning", hint)


def ancestry(name: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """Yield *name*, its parent, and so on; a circle is walked once."""
    seen: set[str] = set()
    step: str | None = name
    while step is not None and step not in seen:
        yield step
        seen.add(step)
        step = parents.get(step)


def circles(parents: Mapping[str, str | None]) -> Iterator[tuple[str, ...]]:
    """Yield the members of each circle, beginning with the one that the file names first."""
    reported: set[str] = set()
    for name in parents:
        members = tuple(ancestry(name, parents))
        if parents.get(members[-1]) == name and name not in reported:
            reported.update(members)
            yield members


def _parents(entries: Mapping[str, object]) -> dict[str, str | None]:
    return {
        name: _text(entry.get("extends")) if isinstance(entry, Mapping) else None for name, entry in entries.items()
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _chosen(document: Document, platforms: frozenset[str]) -> Iterator[Diagnostic]:
    name = document.value.get("platform")
    if isinstance(name, str) and name and name not in {DETECTED, *platforms} and not document.is_flagged(("platform",)):
        yield _unknown(document, name, {DETECTED, *platforms})


def _unknown(document: Document, name: str, names: set[str]) -> Diagnostic:
    message = f"no platform is called {shown(name)}"
    return document.at_value("FR108", ("platform",), message, suggestion(name, names))


def _name(
    document: Document, name: str, parents: Mapping[str, str | None], platforms: frozenset[str]
) -> Iterator[Diagnostic]:
    steps = ("platforms", name)
    if name in platforms or name in parents.values() or document.is_flagged(steps):
        return
    message = f"no platform is called {shown(name)}, and no entry of this file extends it"
    yield document.at_key("FR108", steps, message, suggestion(name, platforms))


def _parent(
    document: Document, name: str, parents: Mapping[str, str | None], platforms: frozenset[str]
) -> Iterator[Diagnostic]:
    steps, parent = ("platforms", name, "extends"), parents[name]
    if not parent or parent in parents or document.is_flagged(steps):
        return
    known = "has no entry in this file" if parent in platforms else "is neither an entry of this file nor a platform"
    others = parents.keys() - {name}
    hint = suggestion(parent, others, otherwise="write an entry of that name below 'platforms', or take 'extends' out")
    yield document.at_value("FR108", steps, f"{shown(parent)} {known}, so nothing can be taken from it", hint)
