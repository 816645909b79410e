"""Frozen records that cross module borders; no behaviour beyond what they derive from themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from flagos_runtime.diagnostics import Diagnostic

State = Literal["available", "unavailable", "unknown"]
Evidence = Literal["declared", "detected", "measured"]
PlatformKind = Literal["cuda", "cuda_shaped", "private_use1", "sim"]
Presence = Literal["usable", "unusable", "absent"]
StepKind = Literal["device", "probe", "alias", "compile", "op", "patch"]
DecisionState = Literal["planned", "applied", "skipped", "failed", "disabled"]
ActivationState = Literal["inactive", "active", "degraded", "disabled"]

# -- facts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Capability:
    """One named fact about a platform: may it be relied on, and how do we know.

    ``source`` says where the fact was read; ``detail`` is for people.
    """

    name: str
    state: State
    evidence: Evidence
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """One question about the host that a platform asks.

    Attributes:
        name: snake_case, unique; the override is ``FLAGOS_OVERRIDE_<NAME>``.
        kind: ``path`` (glob below /), ``pci`` (vendor id, ``0x10de``), ``library`` (soname or path),
            ``module`` (importable name), ``torch`` (a torch build fact, e.g. ``version.cuda``).
        subjects: alternatives; the probe is ``available`` when one of them is found.
        source: where this fact was read.
        required: a platform is *usable* only when every required probe is available.
        presence: this probe being available means that the hardware is there.
        verified: false where the source is second hand.
    """

    name: str
    kind: Literal["path", "pci", "library", "module", "torch"]
    subjects: tuple[str, ...]
    source: str
    required: bool = False
    presence: bool = False
    verified: bool = True


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The answer to one probe. ``reason`` says what was looked for and what was found."""

    name: str
    state: State
    reason: str
    value: str = ""
    overridden: bool = False
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Platform:
    """One accelerator family as its plugin describes it.

    Attributes:
        name: our name, the key in routes.yaml.
        title: for people.
        kind: decides what ``cuda`` and ``flagos`` mean (docs/architecture.md).
        device_type: the canonical device type of torch, ``None`` where there is none.
        torch_package: the import name of the vendor's torch plugin, if it has one.
        gems_vendor: FlagGems' name of the vendor.
        dist_backend: torch.distributed backend that serves the device.
        visible_devices: environment names that select devices in the process.
        probes: how presence and usability are told.
        capabilities: declared facts, each with its source.
        detectable: false means the platform is chosen by name only.
        rank: among several usable platforms the higher rank wins.
    """

    name: str
    title: str
    kind: PlatformKind
    device_type: str | None
    probes: tuple[ProbeSpec, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    torch_package: str | None = None
    gems_vendor: str | None = None
    dist_backend: str | None = None
    visible_devices: tuple[str, ...] = ()
    detectable: bool = True
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One platform that was considered, and why it won or lost."""

    platform: str
    presence: Presence
    chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Detection:
    """Which platform this host has. ``platform`` is ``None`` where nothing usable was found."""

    platform: Platform | None
    chosen_by: Literal["environment", "argument", "routes", "detection", "nothing"]
    candidates: tuple[Candidate, ...] = ()
    probes: tuple[ProbeResult, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """One line a candidate, the chosen one first."""
        ordered = sorted(self.candidates, key=lambda item: not item.chosen)
        return tuple(f"{item.platform}: {item.reason}" for item in ordered)


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
class OpRoute:
    """Backends for the overloads that ``pattern`` names, first available wins.

    ``pattern`` is an exact overload (``aten::mm.default`` or ``aten::mm``) or ``aten::sort.*``.
    """

    pattern: str
    use: tuple[str, ...]
    where: str
    on_failure: Literal["raise", "next", "cpu"] = "raise"
    guard: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


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
    patches: tuple[PatchRoute, ...] = ()
    capabilities: tuple[Capability, ...] = ()


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
class StepSpec:
    """One thing that this runtime is able to install, declared without torch.

    Attributes:
        id: ``<kind>:<what>``, for instance ``alias:cuda/torch.device``.
        kind: what it is part of.
        target: the dotted place or dispatch key that it writes, for people and for the two-writers check.
        installer: ``module:function`` below ``flagos_runtime.integration``, called with the activation context.
        after: ids that must be installed earlier.
        alias: the alias that this step belongs to, if it belongs to one.
        reversible: false where torch offers no undo.
        summary: one clause for people.
    """

    id: str
    kind: StepKind
    target: str
    installer: str
    after: tuple[str, ...] = ()
    alias: str | None = None
    reversible: bool = True
    summary: str = ""


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
class Plan:
    """Ordered steps for one platform and the decision for each thing that was considered."""

    platform: Platform | None
    steps: tuple[StepSpec, ...] = ()
    decisions: tuple[Decision, ...] = ()
    routes: PlatformRoutes | None = None


# -- what the process looks like ----------------------------------------------------------------------------------


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
class Status:
    """What this process looks like; a snapshot that does not follow later changes."""

    state: ActivationState
    reason: str
    platform: str | None = None
    device_type: str | None = None
    routes: str = ""
    detection: Detection | None = None
    decisions: tuple[Decision, ...] = ()
    aliases: tuple[AliasStatus, ...] = ()
    probes: tuple[ProbeStatus, ...] = ()
    irreversible: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain data that ``json.dumps`` takes."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one name: lines for people, in the order in which they matter."""

    name: str
    kind: Literal["overload", "target", "alias", "unknown"]
    lines: tuple[str, ...]


def plain(value: object) -> object:
    """Turn records, mappings and tuples into what ``json.dumps`` takes."""
    if isinstance(value, Diagnostic):
        return value.to_dict()
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, frozenset)):
        return [plain(item) for item in value]
    return value
