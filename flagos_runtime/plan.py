"""Records of routes, of the plan that is made from them, and of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.records import Capability, Platform, StepSpec

DecisionState = Literal["planned", "applied", "skipped", "failed", "disabled"]
OnFailure = Literal["raise", "next", "cpu"]

# -- routes (validated, `extends` flattened) --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """When an alias applies. Probes are asked for torch's own answer, never for a redirected one."""

    original_false: tuple[str, ...] = ()
    switch_on: str | None = None


@dataclass(frozen=True, slots=True)
class ProbeRoute:
    """Redirect the live probe ``target`` (dotted) to ``redirect`` (``device.<function>``)."""

    target: str
    redirect: str
    where: str


@dataclass(frozen=True, slots=True)
class AliasRoute:
    """Let ``name`` mean the canonical device. ``exclude`` lists single targets that stay stock."""

    name: str
    to: Literal["device"]
    where: str
    enabled: bool = True
    when: Condition = Condition()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteEvidence:
    """What a route was measured to do; ``date`` is ``YYYY-MM-DD``."""

    verdict: str
    speedup: float | None = None
    device: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class OpRoute:
    """Backends for the overloads that ``pattern`` names, first available wins.

    ``pattern`` is an exact overload (``aten::mm.default`` or ``aten::mm``) or ``aten::sort.*``.
    """

    pattern: str
    use: tuple[str, ...]
    where: str
    on_failure: OnFailure = "raise"
    guard: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    evidence: RouteEvidence | None = None


@dataclass(frozen=True, slots=True)
class OpExclusion:
    """Overloads that keep the kernel that is there, whatever ``prefer`` says."""

    pattern: str
    where: str


@dataclass(frozen=True, slots=True)
class PatchRoute:
    """Switch a registered patch on or off."""

    id: str
    enabled: bool
    where: str


@dataclass(frozen=True, slots=True)
class PlatformRoutes:
    """The routes of one platform after ``extends`` was followed."""

    name: str
    probes: tuple[ProbeRoute, ...] = ()
    aliases: tuple[AliasRoute, ...] = ()
    ops_prefer: tuple[str, ...] = ("vendor", "cpu")
    ops: tuple[OpRoute, ...] = ()
    ops_exclude: tuple[OpExclusion, ...] = ()
    ops_prefer_where: str = ""
    patches: tuple[PatchRoute, ...] = ()
    capabilities: tuple[Capability, ...] = ()

    @property
    def lone_backends(self) -> frozenset[str]:
        """Return the backends that some route names alone: without a kernel of theirs it could not hold."""
        return frozenset(item.use[0] for item in self.ops if len(item.use) == 1)


@dataclass(frozen=True, slots=True)
class RouteSet:
    """One validated route file. ``source`` is its path."""

    source: str
    platform: str
    autoload: Literal["accelerator", "always", "never"]
    profile: Literal["full", "minimal"]
    platforms: Mapping[str, PlatformRoutes]
    diagnostics: tuple[Diagnostic, ...] = ()

    def of(self, platform: str) -> PlatformRoutes:
        """Return the routes of *platform*; a platform without an entry has no routes."""
        return self.platforms.get(platform, PlatformRoutes(platform))


# -- plan -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one step or route, with its reason and the place that decided."""

    id: str
    target: str
    state: DecisionState
    reason: str
    where: str = ""
    order: int | None = None


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """One backend that was considered for an overload, and why it may serve it or not."""

    backend: str
    available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class OpDecision:
    """What serves one overload, and who decided.

    Attributes:
        overload: ``aten::name.overload``, ``aten::name`` where it has no name.
        choices: every backend that was considered, in order of preference.
        where: the place or variable that decided.
        reason: one clause for people.
        overruled: places and variables that said something about this overload and lost, in order of strength.
        on_failure: what follows where a backend's kernel does not exist or does not compile.
        guard: what a call has to look like; other calls take the kernel that was there before.
        evidence: what the route was measured to do.
    """

    overload: str
    choices: tuple[BackendChoice, ...]
    where: str
    reason: str
    overruled: tuple[str, ...] = ()
    on_failure: OnFailure = "raise"
    guard: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    evidence: RouteEvidence | None = None

    @property
    def backends(self) -> tuple[str, ...]:
        """Return the available backends in order; empty where the kernel that is there stays."""
        return tuple(choice.backend for choice in self.choices if choice.available)


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered steps for one platform and the decision for each thing that was considered.

    ``operators`` has one decision for each overload that a route, a list or a variable says something about.
    """

    platform: Platform | None
    steps: tuple[StepSpec, ...] = ()
    decisions: tuple[Decision, ...] = ()
    routes: PlatformRoutes | None = None
    operators: tuple[OpDecision, ...] = ()


# -- what became of it ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AliasStatus:
    """State of one alias, with the number of APIs by treatment (``same``, ``emulated``, ``refused``)."""

    name: str
    to: str
    active: bool
    reason: str
    apis: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ProbeStatus:
    """Torch's own answer of a live probe beside what it answers now.

    ``state`` is ``stock``, ``redirected`` or ``drifted``; ``writers`` names everybody who wrote it, in order.
    """

    name: str
    original: str
    live: str
    redirected_by: str
    state: Literal["stock", "redirected", "drifted"]
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpFailure:
    """What a backend raised at its first failure, and what serves its calls since."""

    backend: str
    reason: str
    then: str


@dataclass(frozen=True, slots=True)
class OpCalls:
    """What serves a routed overload in this process.

    Attributes:
        overload: ``aten::name.overload``.
        served: how many calls each backend has served; ``prior`` is the kernel that was there before.
        failures: the first failure of each backend.
        in_force: the kernel that the next call tries first; empty until a call has loaded it.
        prior: the kernel that was there before.
    """

    overload: str
    served: Mapping[str, int]
    failures: tuple[OpFailure, ...] = ()
    in_force: str = ""
    prior: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one name: lines for people, in the order in which they matter."""

    name: str
    kind: Literal["overload", "target", "alias", "unknown"]
    lines: tuple[str, ...]
