"""What is surveyed and under which conditions: what two surveys must have in common to be compared."""

from __future__ import annotations

import hashlib
import platform as machine
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from flagos_runtime.backends import tables_of
from flagos_runtime.config.overloads import installed_overloads
from flagos_runtime.config.patterns import canonical, matched, pattern_problem
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.facts import Facts, operator_backends
from flagos_runtime.operators import KEPT
from flagos_runtime.plan import PlatformRoutes
from flagos_runtime.survey.result import CohortEntry, SettingsEntry

PACKAGES: Final = ("torch", "flag-gems", "triton", "numpy", "flagos-runtime")
#: Folders whose code makes, runs and judges cases.
HARNESS: Final = ("survey", "integration/survey")


class Cohort(NamedTuple):
    """What is surveyed.

    Attributes:
        entry: what is compared.
        overloads: in the order of their names.
    """

    entry: CohortEntry
    overloads: tuple[str, ...]


def cohort_of(
    facts: Facts, backend: str, settings: SettingsEntry, *, ops: tuple[str, ...] = (), limit: int | None = None
) -> Cohort:
    """Return what a survey of *backend* on the platform of *facts* is about.

    Args:
        facts: the platform and the route file.
        backend: whose kernels are tried.
        settings: which cases, and how often.
        ops: overloads and patterns to be surveyed, instead of all that the backend has.
        limit: take this many of them.

    Raises:
        ConfigError: there is no such backend or overload, or nothing to survey.
    """
    platform = facts.detection.platform
    if platform is None or facts.routes is None:
        hint = "set FLAGOS_PLATFORM=sim to survey the embedded device"
        raise ConfigError((Diagnostic("FR108", "error", "survey", "there is no platform on this host", hint),))
    overloads = tuple(sorted(_overloads(facts, backend, facts.routes.of(platform.name), ops)))[:limit]
    entry: CohortEntry = {
        "platform": platform.name,
        "backend": backend,
        "harness": _code_hash(),
        "routes": _hashed([Path(facts.routes.source).read_bytes()]),
        "torch": _version("torch"),
        "settings": settings,
        "overloads": {"count": len(overloads), "hash": _hashed(name.encode() for name in overloads)},
    }
    return Cohort(entry, overloads)


def versions() -> dict[str, str]:
    """Return the versions of what takes part."""
    found = {name: _version(name) for name in PACKAGES}
    return {"python": machine.python_version(), **{name: text for name, text in found.items() if text}}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _overloads(facts: Facts, backend: str, routes: PlatformRoutes, ops: tuple[str, ...]) -> Iterable[str]:
    known = installed_overloads() or frozenset()
    served = _served(facts, backend, routes) & known
    if not ops:
        if not served:
            raise _nothing(backend)
        return served
    faults = tuple(_unknown(item, problem) for item in ops if (problem := pattern_problem(item, known)))
    if faults:
        raise ConfigError(faults)
    chosen = frozenset(name for item in ops for name in _named(item, known))
    fitting = chosen & served if served else chosen
    if not fitting:
        raise _nothing(backend)
    return fitting


def _named(item: str, known: frozenset[str]) -> Iterable[str]:
    return matched(item, known) if item.endswith(".*") else (canonical(item),)


def _served(facts: Facts, backend: str, routes: PlatformRoutes) -> frozenset[str]:
    """Return what the table of *backend* names, else what routes name it for; empty where either is everything."""
    backends = operator_backends(facts.plugins)
    words = [item.name for item in backends]
    if backend not in words:
        message = f"no backend is called '{backend}', known are {', '.join(words)}"
        raise ConfigError((Diagnostic("FR113", "error", "--backend", message),))
    table = tables_of(backends)(backend)
    if not table.available:
        raise ConfigError((Diagnostic("FR404", "error", "--backend", f"'{backend}' is unavailable: {table.reason}"),))
    if table.overloads is not None:
        return table.overloads
    named = (canonical(route.pattern) for route in routes.ops if backend in route.use)
    return frozenset(name for name in named if backend != KEPT or not name.endswith(".*"))


def _nothing(backend: str) -> ConfigError:
    message = f"nothing says which overloads of backend '{backend}' to survey"
    return ConfigError(
        (Diagnostic("FR112", "error", "--ops", message, "name some, as in --ops 'aten::mm,aten::sum.*'"),)
    )


def _unknown(item: str, problem: tuple[str, str]) -> Diagnostic:
    return Diagnostic("FR112", "error", f"--ops {item}", *problem)


def _code_hash() -> str:
    root = Path(__file__).parents[1]
    files = sorted(file for folder in HARNESS for file in (root / folder).glob("*.py"))
    return _hashed(file.read_bytes() for file in files)


def _hashed(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]
