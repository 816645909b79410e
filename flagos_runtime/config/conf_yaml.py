"""Route files written from confs: what the shipped file says of a platform, with the operator routes of the conf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from flagos_runtime.config.conf_routes import ConfTable
from flagos_runtime.plan import AliasRoute, PlatformRoutes

ENTRY: Final = "  "
ROUTE: Final = ENTRY * 4


def routes_text(tables: Mapping[str, ConfTable], shipped: Mapping[str, PlatformRoutes], made: str) -> str:
    """Return a route file.

    Args:
        tables: the operator routes of each platform.
        shipped: what else holds for each of them.
        made: one line on where the file comes from.
    """
    lines = [f"# {_comment(made)}", "version: 1", "platform: auto", "", "platforms:"]
    for name, table in tables.items():
        lines += [*entry_lines(shipped[name]), f"{ENTRY * 2}ops:"]
        if shipped[name].ops_prefer_where:
            lines.append(f"{ENTRY * 3}prefer: [{', '.join(shipped[name].ops_prefer)}]")
        lines += [f"{ENTRY * 3}routes:{'' if table.assignments else ' {}'}", *_routes(table)]
    return "\n".join(lines) + "\n"


def entry_lines(routes: PlatformRoutes) -> list[str]:
    """Return the lines of a platform's entry without its operators."""
    return [f"{ENTRY}{routes.name}:", *_indented(_other_entries(routes))]


def _routes(table: ConfTable) -> Iterator[str]:
    for name, item in table.assignments.items():
        annotation = f"  # {_comment(item.annotation)}" if item.annotation else ""
        use = table.uses[name]
        value = use[0] if len(use) == 1 else f"{{use: [{', '.join(use)}]}}"
        yield f"{ROUTE}{name}: {value}{annotation}"


def _comment(text: str) -> str:
    """Return *text* with nothing in it that YAML takes for the end of a line or refuses."""
    return "".join(char if char.isprintable() else " " for char in text)


def _indented(entry: Mapping[str, object]) -> list[str]:
    text = yaml.safe_dump(dict(entry), sort_keys=False, width=120) if entry else ""
    return [f"{ENTRY * 2}{line}" for line in text.splitlines()]


def _other_entries(routes: PlatformRoutes) -> dict[str, object]:
    """Return what holds for a platform besides its operators, as a route file says it."""
    entries: dict[str, object] = {
        "probes": [{"target": item.target, "redirect": item.redirect} for item in routes.probes],
        "aliases": [_alias(item) for item in routes.aliases],
        "patches": [{"id": item.id, "enabled": item.enabled} for item in routes.patches],
        "capabilities": {
            item.name: {"state": item.state, "detail": item.detail, "source": item.source}
            for item in routes.capabilities
        },
    }
    return {name: value for name, value in entries.items() if value}


def _alias(item: AliasRoute) -> dict[str, object]:
    when: dict[str, object] = {"original_false": list(item.when.original_false), "switch_on": item.when.switch_on}
    entry: dict[str, object] = {"name": item.name, "to": item.to, "enabled": item.enabled}
    entry["when"] = {name: value for name, value in when.items() if value}
    entry["exclude"] = list(item.exclude)
    return {name: value for name, value in entry.items() if value not in ({}, [])}
