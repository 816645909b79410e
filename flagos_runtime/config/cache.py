"""Validated route files, kept so that pydantic and yaml are loaded for a file that changed and for no other."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.plan import (
    AliasRoute,
    Condition,
    OpExclusion,
    OpRoute,
    PatchRoute,
    PlatformRoutes,
    ProbeRoute,
    RouteEvidence,
    RouteSet,
)
from flagos_runtime.records import BackendTable, Capability, plain

Json = Mapping[str, Any]
#: The guard of every route that has none.
UNGUARDED: Final[Mapping[str, object]] = MappingProxyType({})
Tables = Callable[[str], BackendTable]


def cached(
    path: Path, facts: object, load: Callable[[], RouteSet], env: Mapping[str, str], table_of: Tables
) -> RouteSet:
    """Return the validated routes of *path*: kept ones if nothing that they rest on has changed, else those of *load*.

    Args:
        path: the route file.
        facts: everything besides the file's bytes that the result depends on; its ``repr`` is compared.
        load: reads and validates the file; its errors pass through and are never kept.
        env: where XDG_CACHE_HOME is looked up.
        table_of: gives what a backend serves, and is asked for the backends that the file was checked against alone.
    """
    try:
        key = hashlib.sha256(repr((str(path), facts, _code_stamp())).encode() + path.read_bytes()).hexdigest()
    except OSError:
        return load()
    place = _folder(env) / f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"
    kept = _read(place, key, table_of)
    if kept is not None:
        return kept
    routes = load()
    # a cache that cannot be written costs time and nothing else
    with contextlib.suppress(OSError):
        tables = {name: _table_stamp(table_of(name)) for name in _checked_backends(routes)}
        _write(place, {"key": key, "tables": tables, "routes": plain(routes)})
    return routes


def _code_stamp() -> tuple[int, ...]:
    """Return what changes when the checks or their records do."""
    here = Path(__file__).parent
    records = (here.parent / name for name in ("plan.py", "records.py"))
    return tuple(file.stat().st_mtime_ns for file in (*sorted(here.glob("*.py")), *records))


def _checked_backends(routes: RouteSet) -> frozenset[str]:
    return frozenset[str]().union(*(item.lone_backends for item in routes.platforms.values()))


def _table_stamp(table: BackendTable) -> str:
    """Return what changes when a backend serves something else."""
    facts = (table.available, table.reason, table.version, sorted(table.overloads or ()))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _folder(env: Mapping[str, str]) -> Path:
    named = Path(env.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "flagos" / "routes"


def _read(place: Path, key: str, table_of: Tables) -> RouteSet | None:
    try:
        found = json.loads(place.read_bytes())
        if found["key"] != key or any(_table_stamp(table_of(name)) != old for name, old in found["tables"].items()):
            return None
        return _routes(found["routes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(place: Path, content: Json) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    # readers see the old file or the new one, never a part
    descriptor, name = tempfile.mkstemp(dir=place.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    Path(name).replace(place)


def _routes(item: Json) -> RouteSet:
    platforms = {name: _platform(found) for name, found in item["platforms"].items()}
    notes = tuple(Diagnostic(**note) for note in item["diagnostics"])
    return RouteSet(**{**item, "platforms": MappingProxyType(platforms), "diagnostics": notes})


def _platform(item: Json) -> PlatformRoutes:
    return PlatformRoutes(
        name=item["name"],
        probes=tuple(ProbeRoute(**found) for found in item["probes"]),
        aliases=tuple(_alias(found) for found in item["aliases"]),
        ops_prefer=tuple(item["ops_prefer"]),
        ops=tuple(_op(found) for found in item["ops"]),
        ops_exclude=tuple(OpExclusion(**found) for found in item["ops_exclude"]),
        ops_prefer_where=item["ops_prefer_where"],
        patches=tuple(PatchRoute(**found) for found in item["patches"]),
        capabilities=tuple(Capability(**found) for found in item["capabilities"]),
    )


def _alias(item: Json) -> AliasRoute:
    when = Condition(tuple(item["when"]["original_false"]), item["when"]["switch_on"])
    return AliasRoute(**{**item, "when": when, "exclude": tuple(item["exclude"])})


def _op(item: Json) -> OpRoute:
    guard = _guard(item["guard"]) if item["guard"] else UNGUARDED
    evidence = RouteEvidence(**item["evidence"]) if item["evidence"] else None
    # by position: there may be thousands
    return OpRoute(item["pattern"], tuple(item["use"]), item["where"], item["on_failure"], guard, evidence)


def _guard(item: Json) -> Mapping[str, object]:
    return MappingProxyType({name: tuple(value) if isinstance(value, list) else value for name, value in item.items()})
