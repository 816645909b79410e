"""Records of this process turned into documents, and what a document lets one conclude."""

from __future__ import annotations

import platform as host_platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from difflib import get_close_matches
from importlib import metadata
from typing import Final, TypeVar, cast

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import (
    SCHEMA_VERSION,
    UNKNOWN_HOST,
    AliasEntry,
    CapabilityEntry,
    DiagnosticEntry,
    HostEntry,
    LeftOutEntry,
    MachineEntry,
    OpEntry,
    OperatorEntry,
    OpsEntry,
    PatchEntry,
    PlanReport,
    ProbeEntry,
    Report,
    StepEntry,
    json_schema,
)
from flagos_runtime.masking import masked
from flagos_runtime.measurement import Measure, rows_after
from flagos_runtime.operators import counted
from flagos_runtime.plan import AliasStatus, Decision, OpDecision, Plan, PlatformRoutes
from flagos_runtime.records import Capability, Detection, Platform, Status, plain

T = TypeVar("T")
E = TypeVar("E")

#: What the names of this runtime's variables begin with; no route file is called so.
OURS: Final = "FLAGOS_"
NO_PLATFORMS: Final[tuple[Platform, ...]] = ()
NO_DIAGNOSTICS: Final[tuple[Diagnostic, ...]] = ()

# -- records -> documents ---------------------------------------------------------------------------------------


def check_report(
    status: Status,
    *,
    host: HostEntry,
    capabilities: Iterable[Capability] = (),
    diagnostics: Iterable[Diagnostic] = (),
) -> Report:
    """Return the document of *status*; *diagnostics* are those of making the report itself."""
    return {
        "schema_version": SCHEMA_VERSION,
        "host": host,
        "platform": {"name": status.platform, "device_type": status.device_type, "why": _why(status.detection)},
        "activation": {"state": status.state, "reason": status.reason},
        "probes": [_entry(ProbeEntry, item) for item in status.probes],
        "aliases": [_alias(item) for item in status.aliases],
        "patches": [_entry(PatchEntry, item) for item in status.decisions],
        "capabilities": [_entry(CapabilityEntry, item) for item in capabilities],
        "ops": _ops(status.op_decisions),
        "diagnostics": [_entry(DiagnosticEntry, item) for item in (*status.diagnostics, *diagnostics)],
    }


def plan_report(
    plan: Plan, *, detection: Detection | None = None, routes: str = "", diagnostics: Iterable[Diagnostic] = ()
) -> PlanReport:
    """Return the document of *plan*: its steps in order, then what was left out and why."""
    decisions = {item.id: item for item in plan.decisions}
    planned = {step.id for step in plan.steps}
    chosen = plan.platform
    return {
        "schema_version": SCHEMA_VERSION,
        "platform": {
            "name": chosen.name if chosen else None,
            "device_type": chosen.device_type if chosen else None,
            "why": _why(detection),
        },
        "routes": routes,
        "steps": [_step(plan, decisions, order) for order in range(len(plan.steps))],
        "left_out": [_entry(LeftOutEntry, item) for item in plan.decisions if item.id not in planned],
        "operators": [_entry(OperatorEntry, item) for item in plan.operators],
        "diagnostics": [_entry(DiagnosticEntry, item) for item in diagnostics],
    }


def capability_rows(
    platform: Platform | None, *, routes: Iterable[Capability] = (), platforms: Iterable[Platform] = ()
) -> tuple[Capability, ...]:
    """Return what is known of *platform*, where the routes' word beats the plugin's.

    Without a platform nothing is known: every capability that any of *platforms* declares is ``unknown``.
    """
    if platform is None:
        names = {item.name for known in platforms for item in known.capabilities}
        return tuple(Capability(name, "unknown", "declared", "no platform") for name in sorted(names))
    rows = {item.name: item for item in (*platform.capabilities, *routes)}
    return tuple(rows[name] for name in sorted(rows))


def host_entry(environ: Mapping[str, str]) -> HostEntry:
    """Return the facts of this interpreter, with what *environ* says to this runtime; imports no torch."""
    return {**machine_entry(), "environment": our_environment(environ)}


def machine_entry() -> MachineEntry:
    """Return the facts of this interpreter and its machine."""
    return {
        "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": host_platform.python_version(),
        "torch": installed_version("torch"),
        "machine": host_platform.machine(),
        "os": f"{host_platform.system()} {host_platform.release()}",
    }


def our_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of *environ* that this runtime reads or that carry its prefix, secrets masked."""
    names = _names_that_we_read()
    ours = (name for name in sorted(environ) if name in names or name.startswith(OURS))
    return {name: masked(name, environ[name]) for name in ours}


def _names_that_we_read() -> frozenset[str]:
    # not at the top: the report of a broken installation has to do without the table
    try:
        from flagos_runtime.config import environment
    except ImportError:
        return frozenset()
    return frozenset(item.name for item in environment.VARIABLES)


def installed_version(distribution: str) -> str | None:
    """Return the version of *distribution*, without importing it."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _why(detection: Detection | None) -> list[str]:
    return list(detection.why) if detection else []


def _entry(kind: type[E], record: object) -> E:
    """Return those fields of *record* that *kind* names; both share their names, which the schema test holds."""
    return cast(E, {name: plain(getattr(record, name)) for name in kind.__annotations__})


def _alias(item: AliasStatus) -> AliasEntry:
    return {
        "name": item.name,
        "to": item.to,
        "state": "active" if item.active else "inactive",
        "reason": item.reason,
        "apis": {
            "same": item.apis.get("same", 0),
            "emulated": item.apis.get("emulated", 0),
            "refused": item.apis.get("refused", 0),
        },
    }


def _ops(decisions: Sequence[OpDecision]) -> OpsEntry:
    return {
        "counts": dict(counted(decisions)),
        "overrides": [_op(item) for item in decisions if item.where.startswith(OURS)],
        "unavailable": [_op(item) for item in decisions if not item.backends],
    }


def _op(item: OpDecision) -> OpEntry:
    lacks = "; ".join(f"'{choice.backend}': {choice.reason}" for choice in item.choices)
    return {
        "name": item.overload,
        "backend": next(iter(item.backends), None),
        "reason": item.reason if item.backends else lacks,
        "where": item.where,
    }


def _step(plan: Plan, decisions: Mapping[str, Decision], order: int) -> StepEntry:
    step = plan.steps[order]
    decision = decisions.get(step.id, Decision(step.id, step.target, "planned", ""))
    return {
        **_entry(LeftOutEntry, decision),
        "order": order,
        "kind": step.kind,
        "after": list(step.after),
        "reversible": step.reversible,
        "summary": step.summary,
    }


# -- judgements on a document -----------------------------------------------------------------------------------


def has_problem(report: Report) -> bool:
    """Tell whether *report* shows anything that must not pass unnoticed."""
    return (
        report["activation"]["state"] == "degraded"
        or any(item["severity"] == "error" for item in report["diagnostics"])
        or any(item["state"] == "failed" for item in report["patches"])
    )


def unknown_requirements(report: Report, wanted: Iterable[str], *, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return one clause for each of *wanted* that names nothing, with the nearest name that exists."""
    names = {"alias:cuda", "alias:flagos", *known, *_requirement_states(report)}
    return tuple(_unknown_requirement(name, names) for name in wanted if name not in names)


def _unknown_requirement(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(names), n=1)
    return f"unknown requirement '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def unmet_requirements(report: Report, wanted: Iterable[str]) -> tuple[str, ...]:
    """Return one clause for each of *wanted* that is not available, with the reason."""
    states = _requirement_states(report)
    rows = [(name, *states.get(name, ("unknown", "not declared for this platform"))) for name in wanted]
    return tuple(
        f"requirement '{name}' is {state}" + (f": {reason}" if reason else "")
        for name, state, reason in rows
        if state not in ("available", "active")
    )


def _requirement_states(report: Report) -> dict[str, tuple[str, str]]:
    capabilities = {item["name"]: (str(item["state"]), item["detail"]) for item in report["capabilities"]}
    aliases = {f"alias:{item['name']}": (str(item["state"]), item["reason"]) for item in report["aliases"]}
    return capabilities | aliases


# -- gathering --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sources:
    """Where the parts of a check come from; each may fail without taking the others with it.

    ``measure`` is there where the capabilities are to be measured, too; ``findings`` are of the host itself.
    """

    status: Callable[[], Status]
    platforms: Callable[[], Iterable[Platform]]
    routes: Callable[[], PlatformRoutes | None]
    host: Callable[[], HostEntry]
    measure: Measure | None = None
    findings: Callable[[], Iterable[Diagnostic]] = tuple


def gather(sources: Sources, *, failure: Exception | None = None) -> tuple[Report, frozenset[str]]:
    """Return the report of this process, and the name of every capability that some platform declares.

    *failure* is what ended the activation, where something did.
    """
    parts = Parts()
    status = parts.take("status", sources.status, Status("inactive", "the state cannot be told"))
    platforms = parts.take("plugins", lambda: tuple(sources.platforms()), NO_PLATFORMS)
    routes = parts.take("routes", sources.routes, None) if status.platform else None
    platform = status.detection.platform if status.detection and status.platform else None
    declared = capability_rows(platform, routes=routes.capabilities if routes else (), platforms=platforms)
    rows, found = parts.take(
        "measurement", lambda: rows_after(sources.measure, platform, declared), (declared, NO_DIAGNOSTICS)
    )
    # a failed activation has told already what is wrong with torch
    findings = tuple(parts.take("torch", sources.findings, NO_DIAGNOSTICS)) if failure is None else ()
    document = check_report(
        status,
        host=parts.take("host", sources.host, UNKNOWN_HOST),
        capabilities=rows,
        diagnostics=(*_failure_diagnostics(status, failure), *findings, *found, *parts.diagnostics),
    )
    return document, frozenset(item.name for known in platforms for item in known.capabilities)


class Parts:
    """The parts of one report; where gathering a part fails, a default stands in and a diagnostic says so."""

    def __init__(self) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def take(self, name: str, gather_part: Callable[[], T], default: T) -> T:
        """Return what *gather_part* returns, or *default* when it raises."""
        try:
            return gather_part()
        except Exception as error:  # noqa: BLE001 - a report has to come out of a broken host most of all
            message = f"this part of the report is missing: {type(error).__name__}: {error}"
            self.diagnostics = (*self.diagnostics, Diagnostic("FR301", "warning", f"check:{name}", message))
            return default


def _failure_diagnostics(status: Status, failure: Exception | None) -> tuple[Diagnostic, ...]:
    """Return what the document says of *failure*, unless *status* says it already."""
    if failure is None or any(item.severity == "error" for item in status.diagnostics):
        return ()
    step = getattr(failure, "step", None)
    return (Diagnostic("FR501" if step else "FR502", "error", step or "activation", str(failure)),)


# -- schema -----------------------------------------------------------------------------------------------------


def report_schema() -> dict[str, object]:
    """Return the JSON Schema of the document that ``check --json`` prints."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "flagos_runtime report", **json_schema(Report)}
