"""What this machine has turned into decisions on operators: torch's overloads, kernel tables and variables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from flagos_runtime.backends import tables_of
from flagos_runtime.config.environment import Environment
from flagos_runtime.config.overloads import installed_overloads, installed_traits
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ResolveError
from flagos_runtime.operators import FORCE, Installed, OpOverrides, resolve_operators
from flagos_runtime.plan import OpDecision, PlatformRoutes
from flagos_runtime.records import OpBackend


def decided_operators(
    routes: PlatformRoutes, environment: Environment, backends: tuple[OpBackend, ...]
) -> tuple[tuple[OpDecision, ...], tuple[Diagnostic, ...]]:
    """Return the decisions that *routes* and *environment* lead to here, and what no backend serves.

    Raises:
        ResolveError: a variable names what does not exist; it carries every finding.
    """
    installed = Installed(cache(installed_overloads), tables_of(backends), cache(installed_traits))
    named, notes = _named(environment, installed, backends) if environment.family("FLAGOS_OP_") else ({}, ())
    found = resolve_operators(routes, installed, OpOverrides(environment.choice(FORCE), named))
    return found.decisions, (*notes, *found.diagnostics)


def _named(
    environment: Environment, installed: Installed, backends: tuple[OpBackend, ...]
) -> tuple[Mapping[str, tuple[str, tuple[str, ...]]], tuple[Diagnostic, ...]]:
    from flagos_runtime.config.overrides import named_operators  # late: most processes name no operator

    named = tuple(named_operators(environment, installed.overloads, frozenset(item.name for item in backends)))
    findings = tuple(finding for item in named for finding in item.findings)
    if any(item.severity == "error" for item in findings):
        raise ResolveError(findings)
    return {item.overload: (item.variable, item.use) for item in named if item.overload}, findings
