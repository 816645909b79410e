"""A recorded host taken for this one: the plan that its snapshot leads to, without torch and without effect."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from flagos_runtime.config.search import NAMED_BY
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import HostEntry
from flagos_runtime.explanation import explain_name
from flagos_runtime.facts import find_facts, idle_status
from flagos_runtime.host import ReplayHost
from flagos_runtime.plan import AliasStatus, Explanation, Plan, ProbeStatus
from flagos_runtime.preview import Preview, preview_of
from flagos_runtime.records import Status
from flagos_runtime.report import our_environment
from flagos_runtime.snapshot_file import Snapshot, read_snapshot


class Replay(NamedTuple):
    """What a snapshot leads to.

    Attributes:
        preview: the plan and what it rests on.
        status: what a process would look like in which nothing was carried out.
        host: the recorded machine.
        findings: what was wrong with the recorded host itself.
    """

    preview: Preview
    status: Status
    host: HostEntry
    findings: tuple[Diagnostic, ...] = ()


def replay(
    file: Path, platform: str | None = None, routes: str | os.PathLike[str] | None = None, *, with_routes: bool = False
) -> Replay:
    """Return what the host in *file* leads to; the route file is chosen as on this machine.

    Args:
        file: a snapshot.
        platform: a platform's name, where somebody gave one.
        routes: a route file, where somebody gave one.
        with_routes: load the shipped route file even where there is no platform that it is for.

    Raises:
        ConfigError: the snapshot, a name, the recorded environment or the route file is wrong.
    """
    snapshot = read_snapshot(file)
    facts = find_facts(platform, routes, with_routes=with_routes, host=ReplayHost(snapshot))
    if routes is None:
        facts = facts._replace(diagnostics=(*facts.diagnostics, *_other_routes(snapshot["environment"], os.environ)))
    preview = preview_of(facts, _recorded(snapshot["answers"]))
    host: HostEntry = {**snapshot["host"], "environment": our_environment(snapshot["environment"])}
    failure = snapshot.get("torch_failure")
    findings = (Diagnostic(**failure),) if failure is not None else ()
    return Replay(preview, _status(preview, snapshot, file), host, findings)


def explain_replay(found: Replay, name: str) -> Explanation:
    """Return what is known of an alias or a target on the recorded host."""
    return explain_name(name, found.status, found.preview.plan, None)


def _recorded(answers: Mapping[str, bool | None]) -> Callable[[str], Callable[[], bool]]:
    """Return a look-up of probes that answer as they did on the recorded host."""

    def look_up(target: str) -> Callable[[], bool]:
        answer = answers.get(target)
        if answer is None:
            raise LookupError(f"the snapshot has no answer of '{target}'")
        return lambda: answer

    return look_up


def _status(preview: Preview, snapshot: Snapshot, file: Path) -> Status:
    platform = preview.detection.platform
    if platform is None:
        return idle_status(preview.facts)
    return Status(
        "inactive",
        f"replayed from {file}",
        platform=platform.name,
        device_type=platform.device_type,
        routes=preview.routes.source if preview.routes else "",
        detection=preview.detection,
        decisions=preview.plan.decisions,
        aliases=tuple(_aliases(preview.plan)),
        probes=tuple(_probes(preview.plan, snapshot["answers"])),
        diagnostics=preview.diagnostics,
        op_decisions=preview.plan.operators,
    )


def _aliases(plan: Plan) -> Iterator[AliasStatus]:
    from flagos_runtime.integration.catalogue import alias_of  # late: only a plan needs it

    for route in plan.routes.aliases if plan.routes else ():
        mine = [item for item in plan.decisions if alias_of(item.id) == route.name]
        planned = [item for item in mine if item.state == "planned"]
        reason = next((item.reason for item in planned or mine), "has no steps here")
        to = (plan.platform.device_type if plan.platform else None) or ""
        yield AliasStatus(route.name, to, active=False, reason=f"planned: {reason}" if planned else reason)


def _probes(plan: Plan, answers: Mapping[str, bool | None]) -> Iterator[ProbeStatus]:
    for route in plan.routes.probes if plan.routes else ():
        answer = str(answers.get(route.target))
        yield ProbeStatus(route.target, original=answer, live=answer, redirected_by="", state="stock")


def _other_routes(recorded: Mapping[str, str], present: Mapping[str, str]) -> Iterator[Diagnostic]:
    for name in NAMED_BY:
        there, here = recorded.get(name, ""), present.get(name, "")
        if there != here:
            message = f"was '{there}' on the recorded host and is '{here}' here, and this machine's route file is read"
            yield Diagnostic("FR118", "note", name, message, "pass a copy of the recorded host's file with --routes")
            return
