"""Frozen records that cross module borders; no behaviour beyond what they derive from themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from flagos_runtime.diagnostics import Diagnostic

if TYPE_CHECKING:
    from flagos_runtime.plan import AliasStatus, Decision, OpCalls, OpDecision, ProbeStatus

State = Literal["available", "unavailable", "unknown"]
Evidence = Literal["declared", "detected", "measured"]
PlatformKind = Literal["cuda", "cuda_shaped", "private_use1", "no_device", "sim"]
Presence = Literal["usable", "declared", "unusable", "absent"]
StepKind = Literal["device", "probe", "alias", "compile", "op", "patch"]
CaseStatus = Literal["PASS", "INVALID_CASE", "UNVERIFIABLE", "ERROR", "WRONG", "CRASH", "TIMEOUT", "UNSTABLE"]
Verdict = Literal["STRICT", "BASIC_ONLY", "FAILED", "UNTESTED"]
#: The words themselves, in the order in which they are shown; a later verdict is a worse one.
CASES: Final[tuple[CaseStatus, ...]] = get_args(CaseStatus)
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
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
            ``module`` (importable name), ``torch`` (a torch build fact, e.g. ``version.cuda``, or a fact and what it
            must look like, e.g. ``version.__version__=*+corex*``).
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


class Lack(NamedTuple):
    """A name or probe that a platform does not have, and why: there is none, or no source states it."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Platform:
    """One accelerator family as its plugin describes it, with what each ecosystem calls it.

    Attributes:
        name: our name, the key in routes.yaml.
        title: for people.
        kind: decides what ``cuda`` and ``flagos`` mean (docs/architecture.md).
        device_type: the canonical device type of torch, ``None`` where there is none.
        probes: how presence and usability are told.
        capabilities: declared facts, each with its source.
        torch_package: the import name of the vendor's torch plugin, if it has one.
        gems_vendor: FlagGems' name of the vendor, the value of ``GEMS_VENDOR``.
        dist_backend: torch.distributed backend that serves the device.
        visible_devices: environment names that select devices in the process.
        detectable: false means the platform is chosen by name only.
        rank: among several usable platforms the higher rank wins.
        presence_evidence: ``declared`` where no card can be seen: every presence probe must then agree.
        runtime_only: the vendor's runtime is described and found, and nothing beyond it is covered.
        torch_attribute: the attribute of torch that FlagGems takes for the vendor's sign.
        flagcx_device: FlagCX' name of the device.
        triton_target: the ``backend`` of Triton's target.
        triton_backends: names under which Triton builds register the backend.
        triton_extras: names below ``triton.language.extra``, of older builds first.
        container_devices: environment names by which container runtimes select devices.
        command: the vendor's command that lists devices; never run by detection.
        sdk_variables: environment names of the SDK's folder.
        sdk_paths: where the SDK is installed by default.
        environment: what the vendor's stack needs in the environment.
        notes: what else is known to matter, one clause each.
        names_source: where the names were read.
        lacks: every name and kind of probe that is missing above, with the reason.
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
    presence_evidence: Literal["detected", "declared"] = "detected"
    runtime_only: bool = False
    torch_attribute: str | None = None
    flagcx_device: str | None = None
    triton_target: str | None = None
    triton_backends: tuple[str, ...] = ()
    triton_extras: tuple[str, ...] = ()
    container_devices: tuple[str, ...] = ()
    command: str | None = None
    sdk_variables: tuple[str, ...] = ()
    sdk_paths: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    names_source: str = ""
    lacks: tuple[Lack, ...] = ()


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


# -- steps ---------------------------------------------------------------------------------------------------------


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


# -- backends of operators ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BackendTable:
    """What a backend is able to serve on this machine.

    Attributes:
        available: whether its packages are there.
        reason: what was found, or what is missing.
        overloads: ``aten::name.overload`` of each overload that it has a kernel of, ``None`` for all of them.
        version: the version of the package that the kernels come from.
    """

    available: bool
    reason: str
    overloads: frozenset[str] | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class OpBackend:
    """A source of kernels that operator routes may name, declared without torch.

    Attributes:
        name: the word in ``routes.yaml``.
        summary: what serves the overload.
        table: ``module:function`` that returns a `BackendTable`, called without arguments and before torch is loaded;
            empty for a backend that is always there and serves every overload.
        kernel: ``module:function`` that returns the kernel of one overload, called with its name when it is first
            needed; empty for the backends that are part of this runtime.
        without_dtypes: dtypes, without ``torch.``, that none of its kernels takes; the kernel that a call would have
            without this backend serves a call that has one.
    """

    name: str
    summary: str
    table: str = ""
    kernel: str = ""
    without_dtypes: tuple[str, ...] = ()


# -- what the process looks like ----------------------------------------------------------------------------------


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
    operators: tuple[OpCalls, ...] = ()
    op_decisions: tuple[OpDecision, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain data that ``json.dumps`` takes."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


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
