"""Decide, from routes, variables and tables alone, which backend serves each overload.

Who says something about an overload is a claim. Claims come in order of strength: a variable that names the overload,
FLAGOS_FORCE_BACKEND, an exact route, an exclusion, a route of all overloads, the list ``prefer``. An exclusion goes
before FLAGOS_FORCE_BACKEND too. The strongest claim decides, and the others are named with the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from flagos_runtime.config.overloads import canonical, matched
from flagos_runtime.config.traits import Traits
from flagos_runtime.diagnostics import Diagnostic, Severity
from flagos_runtime.plan import BackendChoice, OnFailure, OpDecision, OpRoute, PlatformRoutes
from flagos_runtime.records import BackendTable

FORCE: Final = "FLAGOS_FORCE_BACKEND"
#: The kernel that is there without this runtime.
KEPT: Final = "vendor"
NO_GUARD: Final[Mapping[str, object]] = MappingProxyType({})
NO_TRAITS: Final = Traits()


class Installed(NamedTuple):
    """What this machine has, looked up when it is first needed.

    Attributes:
        overloads: those of the installed torch, ``None`` where they are not known.
        table: what a backend serves, by its name.
        traits: what an overload does, by its name; ``None`` stands for a schema that is not known.
    """

    overloads: Callable[[], frozenset[str] | None]
    table: Callable[[str], BackendTable]
    traits: Callable[[], Callable[[str], Traits | None]]


class OpOverrides(NamedTuple):
    """What the environment says about operators.

    Attributes:
        force: the backend of everything that it serves, empty where none is forced.
        named: for each overload that a variable names, the variable and its backends.
    """

    force: str = ""
    named: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType({})


class Operators(NamedTuple):
    """One decision for each overload that somebody says something about, and what nobody serves."""

    decisions: tuple[OpDecision, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


class _Claim(NamedTuple):
    """What one place says about an overload; ``severity`` is that of its backends all being unavailable."""

    where: str
    use: tuple[str, ...]
    reason: str
    severity: Severity = "warning"
    route: OpRoute | None = None


Claims = Iterable[tuple[str, _Claim]]


def resolve_operators(routes: PlatformRoutes, installed: Installed, overrides: OpOverrides | None = None) -> Operators:
    """Return the decision for each overload that *routes* or *overrides* say something about.

    A backend that is not available stays among the choices with its reason. Where none is, the kernel that is there
    stays, and a diagnostic says so once for all overloads that share the reason.
    """
    overrides = overrides or OpOverrides()
    choices = _Choices(installed)
    decided = [
        (claims[0], _decision(overload, claims, choices))
        for overload, claims in _claims(routes, installed, overrides).items()
    ]
    idle = _idle_lists(routes, installed, overrides)
    return Operators(tuple(item for _, item in decided), (*idle, *_unserved(decided)))


def needs_kernel(decision: OpDecision) -> bool:
    """Tell whether a kernel has to be registered so that *decision* holds."""
    backends = decision.backends
    if backends[:1] != (KEPT,):
        return bool(backends)
    return decision.on_failure == "cpu" or (decision.on_failure == "next" and len(backends) > 1)


def counted(decisions: Iterable[OpDecision]) -> Mapping[str, int]:
    """Return how many of *decisions* each backend serves, the most frequent first; ``vendor`` where none does."""
    return dict(Counter((*item.backends, KEPT)[0] for item in decisions).most_common())


# -- who says what --------------------------------------------------------------------------------------------------


def _claims(routes: PlatformRoutes, installed: Installed, overrides: OpOverrides) -> Mapping[str, list[_Claim]]:
    """Return for each overload what is said about it, the strongest first."""
    excluded = dict(_excluded(routes, installed))
    exact, globs, preferred = list(_exact(routes)), list(_globs(routes, installed)), list(_preferred(routes, installed))
    said = dict.fromkeys(name for name, _ in chain(exact, excluded.items(), globs, preferred))
    forced = dict(_forced(overrides.force, said, installed))
    found: dict[str, list[_Claim]] = {}
    for overload, claim in chain(
        _named(overrides),
        (item for item in forced.items() if item[0] not in excluded),
        exact,
        excluded.items(),
        (item for item in forced.items() if item[0] in excluded),
        globs,
        preferred,
    ):
        found.setdefault(overload, []).append(claim)
    return found


def _named(overrides: OpOverrides) -> Claims:
    for overload, (variable, use) in overrides.named.items():
        yield overload, _Claim(variable, use, f"{variable} names it")


def _forced(backend: str, said: Iterable[str], installed: Installed) -> Claims:
    """A backend that serves every overload is forced on those that somebody else says something about."""
    if not backend or not installed.table(backend).available:
        return
    claim = _Claim(FORCE, (backend,), f"{FORCE} is '{backend}'")
    served = installed.table(backend).overloads
    for overload in said if served is None else _existing(served, installed):
        yield overload, claim


def _exact(routes: PlatformRoutes) -> Claims:
    for route in routes.ops:
        if not route.pattern.endswith(".*"):
            yield canonical(route.pattern), _Claim(route.where, route.use, "its route", route=route)


def _excluded(routes: PlatformRoutes, installed: Installed) -> Claims:
    for item in routes.ops_exclude:
        claim = _Claim(item.where, (KEPT,), f"excluded as '{item.pattern}'")
        for overload in _matched(item.pattern, installed):
            yield overload, claim


def _globs(routes: PlatformRoutes, installed: Installed) -> Claims:
    for route in routes.ops:
        if route.pattern.endswith(".*"):
            claim = _Claim(route.where, route.use, f"the route of '{route.pattern}'", "note", route)
            for overload in _matched(route.pattern, installed):
                yield overload, claim


def _preferred(routes: PlatformRoutes, installed: Installed) -> Claims:
    served = frozenset[str]().union(*(table.overloads or () for _, table in _listed(routes, installed)))
    claim = _Claim(routes.ops_prefer_where, routes.ops_prefer, "a preferred backend has a kernel of it")
    for overload in _existing(served, installed) if served else ():
        yield overload, claim


def _listed(routes: PlatformRoutes, installed: Installed) -> Iterator[tuple[str, BackendTable]]:
    """Yield the preferred backends before the first one that serves every overload, with their tables."""
    for backend in routes.ops_prefer:
        table = installed.table(backend)
        if table.available and table.overloads is None:
            return
        yield backend, table


def _matched(pattern: str, installed: Installed) -> Iterable[str]:
    if not pattern.endswith(".*"):
        return (canonical(pattern),)
    return matched(pattern, installed.overloads() or frozenset())


def _existing(served: frozenset[str], installed: Installed) -> list[str]:
    """A package may have kernels of operators that the installed torch does not have."""
    known = installed.overloads()
    return sorted(served if known is None else served & known)


# -- what serves ----------------------------------------------------------------------------------------------------


class _Choices:
    """Backends judged for overloads; equal judgements are one object, for there are thousands."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed
        self._made: dict[tuple[str, bool, str], BackendChoice] = {}

    def of(self, backend: str, overload: str) -> BackendChoice:
        """Return whether *backend* may serve *overload*, and why."""
        table = self._installed.table(backend)
        serves = table.overloads is None or overload in table.overloads
        obstacle = self.traits(overload).bars_cpu if backend == "cpu" else ""
        key = (backend, serves, obstacle)
        if key not in self._made:
            self._made[key] = _choice(backend, table, obstacle, serves=serves)
        return self._made[key]

    def traits(self, overload: str) -> Traits:
        """Return the traits of *overload*, none where its schema is not known."""
        return self._installed.traits()(overload) or NO_TRAITS


def _choice(backend: str, table: BackendTable, obstacle: str, *, serves: bool) -> BackendChoice:
    if obstacle or not table.available or table.overloads is None:
        return BackendChoice(backend, table.available and not obstacle, obstacle or table.reason)
    return BackendChoice(backend, serves, f"{table.reason} has {'a' if serves else 'no'} kernel of it")


def _decision(overload: str, claims: list[_Claim], choices: _Choices) -> OpDecision:
    claim = claims[0]
    route = claim.route
    return OpDecision(
        overload=overload,
        choices=tuple(choices.of(backend, overload) for backend in claim.use),
        where=claim.where,
        reason=claim.reason,
        overruled=tuple(item.where for item in claims[1:]) if len(claims) > 1 else (),
        on_failure=_on_failure(route, overload, choices),
        guard=NO_GUARD if route is None else route.guard,
        evidence=None if route is None else route.evidence,
    )


def _on_failure(route: OpRoute | None, overload: str, choices: _Choices) -> OnFailure:
    if route is None or route.on_failure == "raise" or choices.traits(overload).bars_retry:
        return "raise"
    return route.on_failure


# -- what nobody serves ---------------------------------------------------------------------------------------------


def _unserved(decided: Iterable[tuple[_Claim, OpDecision]]) -> Iterator[Diagnostic]:
    groups: dict[tuple[Severity, tuple[BackendChoice, ...]], list[OpDecision]] = {}
    for claim, decision in decided:
        if not decision.backends:
            groups.setdefault((claim.severity, decision.choices), []).append(decision)
    for (severity, choices), group in groups.items():
        why = "; ".join(f"'{item.backend}': {item.reason}" for item in choices)
        more = f" and {len(group) - 1} more keep" if len(group) > 1 else " keeps"
        message = f"{group[0].overload}{more} the kernel that is there, since no backend is available: {why}"
        yield Diagnostic("FR404", severity, group[0].where, message, "add a backend that is, for instance 'vendor'")


def _idle_lists(routes: PlatformRoutes, installed: Installed, overrides: OpOverrides) -> Iterator[Diagnostic]:
    """Say that a list or a variable decides nothing since its backend is not there."""
    if overrides.force and not (table := installed.table(overrides.force)).available:
        message = f"'{overrides.force}' is forced on nothing: {table.reason}"
        yield Diagnostic("FR404", "warning", FORCE, message, "make it available, or unset the variable")
    for backend, table in _listed(routes, installed):
        if not table.available:
            message = f"the preferred backend '{backend}' serves nothing: {table.reason}"
            yield Diagnostic("FR404", "note", routes.ops_prefer_where, message)
