"""What a process looks like, as records: made from a plan and a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.ledger import Ledger, locate
from flagos_runtime.plan import AliasRoute, AliasStatus, Decision, Plan, ProbeStatus
from flagos_runtime.preview import Preview
from flagos_runtime.records import ActivationState, Status, StepSpec


def active(resolved: Preview, ledger: Ledger) -> Status:
    """Return the status after every step of the plan was installed."""
    plan = resolved.plan
    decisions = tuple(replace(item, state="applied") if item.state == "planned" else item for item in plan.decisions)
    count = sum(item.state == "applied" for item in decisions)
    base = _status(resolved, ledger, "active", f"{count} steps installed")
    aliases = tuple(_alias(route, plan, decisions) for route in (plan.routes.aliases if plan.routes else ()))
    return replace(base, decisions=decisions, aliases=aliases, probes=probes(plan, ledger))


def failed(resolved: Preview, ledger: Ledger, step: StepSpec, exc: Exception) -> Status:
    """Return the status after *step* raised and everything was put back."""
    error = Diagnostic("FR501", "error", step.id, f"{type(exc).__name__}: {exc}", "everything was put back")
    base = _status(resolved, ledger, "inactive", f"step '{step.id}' failed")
    decisions = tuple(_undone(item, step, error) for item in resolved.plan.decisions)
    return replace(base, decisions=decisions, diagnostics=(*base.diagnostics, error))


def deactivated(before: Status, ledger: Ledger, reports: Iterable[Diagnostic]) -> Status:
    """Return the status after a restore, with *reports* of what another writer holds and what torch cannot undo."""
    return replace(
        before,
        state="inactive",
        reason="deactivated",
        decisions=(),
        aliases=(),
        probes=(),
        op_decisions=(),
        irreversible=tuple(ledger.irreversible),
        diagnostics=(*reports, *_one_way(ledger)),
    )


def with_drift(status: Status, plan: Plan, ledger: Ledger) -> Status:
    """Return *status* as the process is now, with what other writers have changed."""
    diagnostics = (*status.diagnostics, *_drift(ledger))
    return replace(status, probes=probes(plan, ledger), diagnostics=diagnostics)


def probes(plan: Plan, ledger: Ledger) -> tuple[ProbeStatus, ...]:
    """Return both answers of each probe that the plan redirects."""
    from flagos_runtime.integration.torch_probes import probe_status  # late: only an active process has any

    routes = plan.routes.probes if plan.routes is not None else ()
    return tuple(probe_status(route.target, ledger) for route in routes)


def _status(found: Preview, ledger: Ledger, state: ActivationState, reason: str) -> Status:
    platform = found.plan.platform
    return Status(
        state,
        reason,
        platform=platform.name if platform else None,
        device_type=platform.device_type if platform else None,
        routes=found.routes.source if found.routes else "",
        detection=found.detection,
        irreversible=tuple(ledger.irreversible),
        diagnostics=found.diagnostics,
        op_decisions=found.plan.operators,
    )


def _alias(route: AliasRoute, plan: Plan, decisions: tuple[Decision, ...]) -> AliasStatus:
    from flagos_runtime.integration.catalogue import alias_counts, alias_of  # late: only an active process has any

    mine = [item for item in decisions if alias_of(item.id) == route.name]
    on = any(item.state == "applied" for item in mine)
    reason = next((item.reason for item in mine if (item.state == "applied") == on), "has no steps here")
    to = (plan.platform.device_type if plan.platform else None) or ""
    return AliasStatus(route.name, to, on, reason, alias_counts(route.name) if on else {})


def _undone(decision: Decision, step: StepSpec, error: Diagnostic) -> Decision:
    if decision.state != "planned":
        return decision
    if decision.id == step.id:
        return replace(decision, state="failed", reason=error.message)
    return replace(decision, state="skipped", reason=f"rolled back since '{step.id}' failed")


def _drift(ledger: Ledger) -> Iterator[Diagnostic]:
    for entry in ledger.drift():
        message = f"was written by {' and '.join(repr(item) for item in _writers(entry.target, entry.by, ledger))}"
        yield Diagnostic("FR601", "warning", entry.target, message, "the last writer's version is in force")


def _writers(target: str, by: str, ledger: Ledger) -> tuple[str, ...]:
    try:
        return ledger.writers(*locate(target))
    except LookupError:  # an entry of a mapping has no dotted name
        return (by,)


def _one_way(ledger: Ledger) -> Iterator[Diagnostic]:
    for target in ledger.irreversible:
        message = "stays as it is until the process ends, torch offers no undo"
        yield Diagnostic("FR503", "note", target, message)
