"""What is known of one name: an alias, a target that steps write, or an ATen overload."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from flagos_runtime.config.overloads import canonical
from flagos_runtime.ledger import locate, writer_of
from flagos_runtime.plan import BackendChoice, Decision, Explanation, OpDecision, Plan, RouteEvidence
from flagos_runtime.records import Status

if TYPE_CHECKING:
    from flagos_runtime.ledger import Ledger


def explain_name(name: str, status: Status, plan: Plan, ledger: Ledger | None) -> Explanation:
    """Return what *status*, *plan* and *ledger* know of *name*; without a ledger this process is not looked at."""
    from flagos_runtime.integration.catalogue import alias_of  # late: integration is what reads torch's world

    decisions = status.decisions or plan.decisions
    aliases = {alias_of(item.id) for item in decisions}
    if name in aliases:
        return Explanation(name, "alias", tuple(_alias_lines(name, status, decisions)))
    if name.startswith("aten::"):
        lines = _overload_lines(name, status) if ledger is not None else _unrecorded_lines(status)
        more = (*_decision_lines(canonical(name), plan), *_call_lines(canonical(name), status))
        return Explanation(name, "overload", (*lines, *more))
    found = tuple(_target_lines(name, decisions, ledger))
    if found:
        return Explanation(name, "target", found)
    return Explanation(name, "unknown", (f"'{name}' is no alias, no target of a step and no ATen overload here",))


def _alias_lines(name: str, status: Status, decisions: tuple[Decision, ...]) -> Iterator[str]:
    from flagos_runtime.integration.catalogue import alias_of  # late, as above

    mine = [item for item in decisions if alias_of(item.id) == name]
    found = next((alias for alias in status.aliases if alias.name == name), None)
    if found is not None:
        yield f"alias '{name}' is {'on' if found.active else 'off'}: {found.reason}"
    for state in sorted({item.state for item in mine}):
        items = [item for item in mine if item.state == state]
        yield f"{len(items)} step(s) {state}, for instance {items[0].target}: {items[0].reason}"


def _target_lines(name: str, decisions: tuple[Decision, ...], ledger: Ledger | None) -> Iterator[str]:
    for item in decisions:
        if name in {item.target, item.id}:
            place = f" ({item.where})" if item.where else ""
            yield f"step '{item.id}' {item.state}: {item.reason}{place}"
    if ledger is not None:
        yield from _live_lines(name, ledger)


def _live_lines(name: str, ledger: Ledger) -> Iterator[str]:
    try:
        owner, attribute = locate(name)
    except LookupError:
        return
    if not hasattr(owner, attribute):
        return
    for writer in ledger.writers(owner, attribute):
        yield f"written by {writer}"
    yield f"torch's own is {writer_of(ledger.original(owner, attribute))}"
    yield f"in force is {writer_of(getattr(owner, attribute))}"


def _overload_lines(name: str, status: Status) -> Iterator[str]:
    # imported late: the other names need no torch
    from flagos_runtime.integration.routing.library import kernel_keys

    keys = kernel_keys(name)
    if not keys:
        yield f"the installed torch has no overload '{name}'"
        return
    yield f"kernels of its own for {', '.join(keys)}"
    if status.device_type is not None:
        yield f"the canonical device is '{status.device_type}'"


def _unrecorded_lines(status: Status) -> Iterator[str]:
    yield "a snapshot does not record which kernels torch has"
    if status.device_type is not None:
        yield f"the canonical device is '{status.device_type}'"


def _decision_lines(name: str, plan: Plan) -> Iterator[str]:
    """Say what was decided for an overload, by whom and against whom."""
    found = next((item for item in plan.operators if item.overload == name), None)
    if found is None:
        yield "no route, list or variable says anything about it"
        return
    backend = next(iter(found.backends), None)
    outcome = f"'{backend}' serves it" if backend else "no backend can serve it, so the kernel that is there stays"
    yield f"{outcome}: {found.reason}{_at(found.where)}"
    yield from (f"overruled: {where}" for where in found.overruled)
    yield from map(_choice_line, found.choices)
    yield from _condition_lines(found)


def _call_lines(name: str, status: Status) -> Iterator[str]:
    """Say what serves a routed overload in this process, and how often what has."""
    found = next((item for item in status.operators if item.overload == name), None)
    if found is None:
        return
    yield f"kernel in force: {found.in_force or 'loaded by the first call'}"
    yield f"prior kernel: {found.prior}"
    calls = (f"{count} by {backend}" for backend, count in found.served.items())
    yield f"calls: {', '.join(calls) or 'none yet'}"
    yield from (f"'{item.backend}' failed: {item.reason}; {item.then}" for item in found.failures)


def _at(where: str) -> str:
    return f" ({where})" if where else ""


def _choice_line(choice: BackendChoice) -> str:
    return f"backend '{choice.backend}' is {'available' if choice.available else 'unavailable'}: {choice.reason}"


def _condition_lines(decision: OpDecision) -> Iterator[str]:
    if decision.guard:
        wanted = ", ".join(f"{name} {_listed(value)}" for name, value in decision.guard.items())
        yield f"guard: {wanted}; other calls take the kernel that was there before"
    if decision.on_failure != "raise":
        heir = "the next backend" if decision.on_failure == "next" else "the CPU"
        yield f"where the kernel does not exist or does not compile, {heir} takes over"
    if decision.evidence is not None:
        yield f"measured: {', '.join(_evidence(decision.evidence, date.today()))}"


def _listed(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _evidence(found: RouteEvidence, today: date) -> Iterator[str]:
    yield found.verdict
    if found.speedup is not None:
        yield f"{found.speedup:g} times as fast as the vendor's kernel"
    if found.device is not None:
        yield f"on {found.device}"
    if found.date is not None:
        yield f"{found.date}, {(today - date.fromisoformat(found.date)).days} days ago"
