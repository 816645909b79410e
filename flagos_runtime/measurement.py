"""Declared capabilities beside measured ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeAlias

from flagos_runtime.diagnostics import Diagnostic, Severity
from flagos_runtime.records import Capability, Platform

#: Takes the number of capabilities; gives a function to be called with the name of each before it is measured.
Bar: TypeAlias = Callable[[int], AbstractContextManager[Callable[[str], None]]]
Measure: TypeAlias = Callable[[Platform], Iterable[Capability]]
Rows: TypeAlias = tuple[tuple[Capability, ...], tuple[Diagnostic, ...]]


def rows_after(measure: Measure | None, platform: Platform | None, declared: tuple[Capability, ...]) -> Rows:
    """Return the rows to show, and what *measure* found to be otherwise than *declared*."""
    if measure is None:
        return declared, ()
    if platform is None:
        from flagos_runtime.integration.deep.table import EXERCISES  # late: only a deep check asks for any

        return unmeasured_rows(declared, (item.capability for item in EXERCISES), "there is no platform"), ()
    return measured_rows(declared, measure(platform))


def measured_on(platform: Platform, environ: Mapping[str, str], bar: Bar) -> tuple[Capability, ...]:
    """Measure every capability in processes with this environment; *bar* shows how far that has come."""
    from flagos_runtime.integration.deep.runner import Settings, measure  # late, as above
    from flagos_runtime.integration.deep.table import EXERCISES

    with bar(len(EXERCISES)) as announce:
        return tuple(measure(platform, Settings(environ=environ, announce=announce)))


def measured_rows(declared: Iterable[Capability], measured: Iterable[Capability]) -> Rows:
    """Return one row a capability, the measured one where there is one, and what was declared otherwise."""
    rows = {item.name: item for item in declared}
    found: list[Diagnostic] = []
    for item in measured:
        before = rows.get(item.name)
        contradicted = before is not None and before.state not in {item.state, "unknown"}
        rows[item.name] = replace(item, detail=_both(before, item)) if before and contradicted else item
        if before is not None and {before.state, item.state} == {"available", "unavailable"}:
            found.append(_contradiction(before, item))
    return tuple(rows[name] for name in sorted(rows)), tuple(found)


def unmeasured_rows(declared: Iterable[Capability], names: Iterable[str], reason: str) -> tuple[Capability, ...]:
    """Return the rows of a host on which nothing can be measured, with the *names* that would have been tried."""
    rows = {name: Capability(name, "unknown", "declared") for name in names} | {item.name: item for item in declared}
    return tuple(replace(rows[name], detail=f"not measured: {reason}") for name in sorted(rows))


def _both(before: Capability, now: Capability) -> str:
    return f"{before.evidence} {before.state}, {now.evidence} {now.state}: {now.detail}"


def _contradiction(before: Capability, now: Capability) -> Diagnostic:
    source = f" ({before.source})" if before.source else ""
    message = f"{before.evidence} {before.state}{source}, {now.evidence} {now.state}"
    hint = f"correct the declaration: `capabilities` of the platform in the route file, or '{now.name}' in its plugin"
    severity: Severity = "error" if before.state == "available" else "warning"
    return Diagnostic("FR305", severity, f"capability:{now.name}", message, hint)
