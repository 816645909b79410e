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
from typing import Any

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.plan import AliasRoute, Condition, OpRoute, PatchRoute, PlatformRoutes, ProbeRoute, RouteSet
from flagos_runtime.records import Capability, plain

Json = Mapping[str, Any]


def cached(path: Path, facts: object, load: Callable[[], RouteSet], env: Mapping[str, str]) -> RouteSet:
    """Return the validated routes of *path*: kept ones if nothing that they rest on has changed, else those of *load*.

    Args:
        path: the route file.
        facts: everything besides the file's bytes that the result depends on; its ``repr`` is compared.
        load: reads and validates the file; its errors pass through and are never kept.
        env: where XDG_CACHE_HOME is looked up.
    """
    try:
        key = hashlib.sha256(repr((str(path), facts, _code_stamp())).encode() + path.read_bytes()).hexdigest()
    except OSError:
        return load()
    place = _folder(env) / f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"
    kept = _read(place, key)
    if kept is not None:
        return kept
    routes = load()
    # a cache that cannot be written costs time and nothing else
    with contextlib.suppress(OSError):
        _write(place, {"key": key, "routes": plain(routes)})
    return routes


def _code_stamp() -> tuple[int, ...]:
    """Return what changes when the checks or their records do."""
    here = Path(__file__).parent
    return tuple(file.stat().st_mtime_ns for file in (*sorted(here.glob("*.py")), here.parent / "plan.py"))


def _folder(env: Mapping[str, str]) -> Path:
    named = Path(env.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "flagos" / "routes"


def _read(place: Path, key: str) -> RouteSet | None:
    try:
        found = json.loads(place.read_bytes())
        return _routes(found["routes"]) if found["key"] == key else None
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
        patches=tuple(PatchRoute(**found) for found in item["patches"]),
        capabilities=tuple(Capability(**found) for found in item["capabilities"]),
    )


def _alias(item: Json) -> AliasRoute:
    when = Condition(tuple(item["when"]["original_false"]), item["when"]["switch_on"])
    return AliasRoute(**{**item, "when": when, "exclude": tuple(item["exclude"])})


def _op(item: Json) -> OpRoute:
    guard = {name: tuple(value) if isinstance(value, list) else value for name, value in item["guard"].items()}
    return OpRoute(**{**item, "use": tuple(item["use"]), "guard": MappingProxyType(guard)})
