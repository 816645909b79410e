"""The composition root: facts and routes to a plan, the plan to a process; holds the only process-wide state."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagos_runtime.config.environment import read_environment
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ActivationError, ConfigError
from flagos_runtime.ledger import Ledger, locate
from flagos_runtime.records import (
    AliasStatus,
    Decision,
    Detection,
    Explanation,
    Plan,
    PlatformRoutes,
    ProbeStatus,
    RouteSet,
    Status,
    StepSpec,
)

if TYPE_CHECKING:
    from flagos_runtime.config.environment import Environment
    from flagos_runtime.config.loader import Known
    from flagos_runtime.plugins import PluginSet

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """What activation would do here; made without changing anything.

    Attributes:
        detection: the platform and why.
        routes: the route file, or ``None`` where no platform needs one.
        plan: ordered steps with a decision for each.
        diagnostics: findings of plugins, environment and routes.
    """

    detection: Detection
    routes: RouteSet | None
    plan: Plan
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class _Process:
    """Everything that this package knows of this process."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    ledger: Ledger = field(default_factory=Ledger)
    live: Any = None
    preview: Preview | None = None
    status: Status = field(default_factory=lambda: Status("inactive", "nothing has asked for activation yet"))
    importing: set[int] = field(default_factory=set)


_process = _Process()
#: True inside `asking_torch`; redirected probes then answer for torch itself.
_asking: ContextVar[bool] = ContextVar("flagos_asking_torch", default=False)


# -- the public surface -------------------------------------------------------------------------------------------


def activate(platform: str | None = None, routes: str | os.PathLike[str] | None = None) -> Status:
    """Activate the runtime in this process, once; a call that asks for the same again changes nothing.

    Args:
        platform: a platform's name; ``None`` leaves the choice to FLAGOS_PLATFORM, the routes and detection.
        routes: a route file; ``None`` searches as docs/architecture.md says.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
        ActivationError: the platform cannot be activated; everything is as it was before.
    """
    if _process.status.state == "active" and _same_request(platform, routes):
        return _process.status
    planned = _facts(platform, routes)
    if planned.detection.platform is not None:
        _import_torch()
    with _process.lock:
        if _process.status.state == "active":
            return _again(planned)
        if planned.detection.platform is None:
            _process.status = _idle(planned)
            return _process.status
        return _carry_out(planned)


def deactivate() -> Status:
    """Put every original back and return the status, which names what had to stay.

    A place that another writer has changed since is left alone, with a warning that names it.
    """
    with _process.lock:
        if _process.status.state != "active":
            return _process.status
        reports = _take_back()
        _process.status = replace(
            _process.status,
            state="inactive",
            reason="deactivated",
            decisions=(),
            aliases=(),
            probes=(),
            irreversible=tuple(_process.ledger.irreversible),
            diagnostics=(*reports, *_one_way_notes()),
        )
    for report in reports:
        warnings.warn(str(report), RuntimeWarning, stacklevel=2)
    return _process.status


def status() -> Status:
    """Return what this process looks like now."""
    with _process.lock:
        if _process.status.state != "active":
            return _process.status
        drift = tuple(_drift_report(entry.target, entry.by) for entry in _process.ledger.drift())
        found = replace(_process.status, probes=_probe_statuses())
        return replace(found, diagnostics=(*found.diagnostics, *drift))


def original(target: str) -> Any:
    """Return what stood at a dotted *target* before this runtime wrote it, whoever has written since.

    Where this runtime wrote nothing, that is the live value.

    Raises:
        LookupError: there is no such target.
    """
    owner, name = locate(target)
    return _process.ledger.original(owner, name)


@contextmanager
def asking_torch() -> Iterator[None]:
    """Let redirected probes answer for torch itself inside the block, for the code of this thread or task alone."""
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)


def alias_active(name: str) -> bool:
    """Tell whether *name* means the canonical device in this process."""
    return any(alias.name == name and alias.active for alias in _process.status.aliases)


def explain(name: str) -> Explanation:
    """Return what is known of an alias, a target or an ATen overload, and why it is so."""
    # imported late: explaining is the command line's business, not activation's
    from flagos_runtime.explanation import explain_name

    return explain_name(name, status(), _process.preview or preview(), _process.ledger)


def preview(platform: str | None = None, routes: str | os.PathLike[str] | None = None) -> Preview:
    """Return what `activate` would do, without changing anything.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
    """
    planned = _facts(platform, routes)
    if planned.detection.platform is None:
        return planned
    return _resolved(planned)


# -- triggers -------------------------------------------------------------------------------------------------------


def on_import() -> None:
    """Activate because the package was imported, unless it is switched off or this is the command line's process."""
    if _off() or _is_command_line():
        return
    for diagnostic in activate().diagnostics:
        if diagnostic.severity != "note":
            log.warning("%s", diagnostic)


def on_autoload() -> None:
    """Activate because torch is being imported, where the routes allow that."""
    if _off() or _is_command_line() or threading.get_ident() in _process.importing:
        return
    planned = _facts(None, None)
    rule = planned.routes.autoload if planned.routes is not None else "accelerator"
    if rule == "never" or (rule == "accelerator" and planned.detection.platform is None):
        return
    activate()


def _off() -> bool:
    if read_environment(os.environ).switch("FLAGOS_RUNTIME"):
        return False
    _process.status = Status("disabled", "FLAGOS_RUNTIME is off")
    return True


def _is_command_line() -> bool:
    words = sys.orig_argv
    as_module = any(words[i : i + 2] == ["-m", "flagos_runtime"] for i in range(len(words)))
    return as_module or any(Path(word).name == "flagos-runtime" for word in words[:2])


def _import_torch() -> None:
    """Import torch outside the lock: its import runs the entry point, maybe in a thread that waits for ours."""
    me = threading.get_ident()
    _process.importing.add(me)
    try:
        import_module("torch")
    finally:
        _process.importing.discard(me)


# -- facts and plan -------------------------------------------------------------------------------------------------


def _facts(platform: str | None, routes: str | os.PathLike[str] | None) -> Preview:
    """Find platform and routes; the plan stays empty, since its conditions ask torch."""
    environment = read_environment(os.environ)
    plugins = _plugins()
    found = _route_file(routes, environment)
    loaded = _load(found, plugins) if found is not None else None
    detection = _detect(platform, environment, loaded, plugins)
    if loaded is None and detection.platform is not None:
        loaded = _load(_bundled(), plugins)
    notes = loaded.diagnostics if loaded is not None else ()
    diagnostics = (*environment.diagnostics, *plugins.diagnostics, *notes)
    return Preview(detection, loaded, Plan(detection.platform), diagnostics)


def _plugins() -> PluginSet:
    from flagos_runtime.plugins import load_plugins  # late: `FLAGOS_RUNTIME=off` loads no plugin

    return load_plugins()


def _route_file(routes: str | os.PathLike[str] | None, environment: Environment) -> Path | None:
    """Return the file that somebody chose; ``None`` means the bundled one, which leaves the platform to detection."""
    from flagos_runtime.config.search import chosen_routes

    return Path(routes) if routes is not None else chosen_routes(os.environ)


def _bundled() -> Path:
    from flagos_runtime.config.search import bundled_routes

    return bundled_routes()


def _load(path: Path, plugins: PluginSet) -> RouteSet:
    from flagos_runtime.config.loader import load_routes  # late: pydantic and yaml cost more than detection

    return load_routes(path, known(plugins))


def _detect(
    platform: str | None, environment: Environment, routes: RouteSet | None, plugins: PluginSet
) -> Detection:
    from flagos_runtime.host import LiveHost
    from flagos_runtime.probes import run_probes
    from flagos_runtime.resolver import detect

    explicit, chosen_by = _explicit(platform, environment, routes)
    host = LiveHost()
    results = {item.name: run_probes(item.probes, host) for item in plugins.platforms}
    return detect(plugins.platforms, results, explicit=explicit, chosen_by=chosen_by)


def _explicit(platform: str | None, environment: Environment, routes: RouteSet | None) -> tuple[str | None, Any]:
    named = environment.text("FLAGOS_PLATFORM")
    written = routes.platform if routes is not None else "auto"
    for name, chosen_by in ((platform, "argument"), (named, "environment"), (written, "routes")):
        if name and name != "auto":
            return name, chosen_by
    return None, "argument"


def known(plugins: PluginSet | None = None) -> Known:
    """Return the names that a route file may use on this machine."""
    from flagos_runtime.config.loader import Known
    from flagos_runtime.config.overloads import installed_overloads
    from flagos_runtime.integration.catalogue import PROBES
    from flagos_runtime.integration.routing.backends import BACKENDS

    found = _plugins() if plugins is None else plugins
    return Known(
        platforms=frozenset(item.name for item in found.platforms),
        probes=frozenset(PROBES),
        patches=frozenset(spec.id for specs in found.patches.values() for spec in specs),
        backends=frozenset(BACKENDS),
        overloads=installed_overloads(),
    )


def _resolved(planned: Preview, answers: Mapping[str, bool | None] | None = None) -> Preview:
    from flagos_runtime.integration import torch_probes
    from flagos_runtime.integration.catalogue import catalogue
    from flagos_runtime.resolver import resolve

    platform = planned.detection.platform
    if platform is None or planned.routes is None:
        return planned
    routes = planned.routes.of(platform.name)
    specs = catalogue(_plugins().patches.get(platform.name, ()))
    if answers is None:
        answers = torch_probes.answers(_conditions(routes), original)
    environment = read_environment(os.environ)
    switches = {alias.when.switch_on: environment.switch(alias.when.switch_on) for alias in routes.aliases if alias.when.switch_on}
    plan = resolve(platform, routes, specs, answers=answers, switches=switches)
    return replace(planned, plan=plan)


def _conditions(routes: PlatformRoutes) -> tuple[str, ...]:
    return tuple(name for alias in routes.aliases for name in alias.when.original_false)


# -- carrying out -----------------------------------------------------------------------------------------------------


def _carry_out(planned: Preview) -> Status:
    resolved = _resolved(planned)
    return _install(resolved, resolved.plan.steps)


def _install(resolved: Preview, steps: Sequence[StepSpec]) -> Status:
    """Install *steps* in this order, or nothing at all."""
    from flagos_runtime.integration.context import Context

    platform = resolved.plan.platform
    if platform is None or platform.device_type is None:
        raise ActivationError(f"platform '{getattr(platform, 'name', None)}' has no device type that torch could use")
    context = Context.build(_process.ledger, platform, read_environment(os.environ), _asking)
    for step in steps:
        try:
            _installer(step)(context, step)
        except Exception as exc:
            context.live.on = False
            _process.ledger.restore()
            _process.status = _failed(resolved, step, exc)
            raise ActivationError(f"step '{step.id}' failed and everything was put back: {exc}", step=step.id) from exc
    _process.live, _process.preview = context.live, resolved
    _process.status = _active(resolved)
    return _process.status


def _installer(step: StepSpec) -> Callable[[Any, StepSpec], None]:
    module, _, function = step.installer.partition(":")
    installer: Callable[[Any, StepSpec], None] = getattr(import_module(module), function)
    return installer


def _take_back() -> tuple[Diagnostic, ...]:
    if _process.live is not None:
        _process.live.on = False
    _process.live = None
    return _process.ledger.restore()


# -- records ----------------------------------------------------------------------------------------------------------


def _same_request(platform: str | None, routes: str | os.PathLike[str] | None) -> bool:
    same_routes = routes is None or os.fspath(routes) == _process.status.routes
    return same_routes and platform in {None, _process.status.platform}


def _again(planned: Preview) -> Status:
    """Answer a second activation: the same wish changes nothing, another one is refused."""
    found = planned.detection.platform
    if found is not None and found.name == _process.status.platform:
        return _process.status
    wanted = found.name if found is not None else None
    raise ActivationError(
        f"platform '{wanted}' was asked for, but '{_process.status.platform}' is active in this process; "
        "call flagos_runtime.deactivate() first"
    )


def _idle(planned: Preview) -> Status:
    reasons = "; ".join(planned.detection.why) or "no platform is known"
    return Status(
        "inactive",
        f"no usable platform: {reasons}",
        routes=planned.routes.source if planned.routes is not None else "",
        detection=planned.detection,
        diagnostics=planned.diagnostics,
    )


def _base(resolved: Preview, state: Any, reason: str) -> Status:
    platform = resolved.plan.platform
    return Status(
        state,
        reason,
        platform=platform.name if platform else None,
        device_type=platform.device_type if platform else None,
        routes=resolved.routes.source if resolved.routes else "",
        detection=resolved.detection,
        irreversible=tuple(_process.ledger.irreversible),
        diagnostics=resolved.diagnostics,
    )


def _active(resolved: Preview) -> Status:
    plan = resolved.plan
    decisions = tuple(replace(item, state="applied") if item.state == "planned" else item for item in plan.decisions)
    count = sum(item.state == "applied" for item in decisions)
    base = _base(resolved, "active", f"{count} steps installed")
    return replace(base, decisions=decisions, aliases=_alias_statuses(plan, decisions), probes=_probe_statuses(plan))


def _failed(resolved: Preview, step: StepSpec, exc: Exception) -> Status:
    error = Diagnostic("FR501", "error", step.id, f"{type(exc).__name__}: {exc}", "everything was put back")
    base = _base(resolved, "inactive", f"step '{step.id}' failed")
    decisions = tuple(_undone(item, step, error) for item in resolved.plan.decisions)
    return replace(base, decisions=decisions, diagnostics=(*base.diagnostics, error))


def _undone(decision: Decision, failed: StepSpec, error: Diagnostic) -> Decision:
    if decision.state != "planned":
        return decision
    if decision.id == failed.id:
        return replace(decision, state="failed", reason=error.message)
    return replace(decision, state="skipped", reason=f"rolled back since '{failed.id}' failed")


def _alias_statuses(plan: Plan, decisions: Sequence[Decision]) -> tuple[AliasStatus, ...]:
    from flagos_runtime.integration.catalogue import alias_counts, alias_of

    routes = plan.routes.aliases if plan.routes is not None else ()
    statuses = []
    for route in routes:
        mine = [item for item in decisions if alias_of(item.id) == route.name]
        active = any(item.state == "applied" for item in mine)
        reason = next((item.reason for item in mine if (item.state == "applied") == active), "has no steps here")
        to = (plan.platform.device_type if plan.platform else None) or ""
        statuses.append(AliasStatus(route.name, to, active, reason, alias_counts(route.name) if active else {}))
    return tuple(statuses)


def _probe_statuses(plan: Plan | None = None) -> tuple[ProbeStatus, ...]:
    from flagos_runtime.integration import torch_probes

    current = plan or (_process.preview.plan if _process.preview is not None else None)
    routes = current.routes.probes if current is not None and current.routes is not None else ()
    return tuple(torch_probes.probe_status(route.target, _process.ledger) for route in routes)


def _drift_report(target: str, by: str) -> Diagnostic:
    owner, name = locate(target) if "[" not in target else (None, "")
    writers = " and ".join(f"'{item}'" for item in _process.ledger.writers(owner, name)) if owner is not None else by
    return Diagnostic("FR601", "warning", target, f"was written by {writers}", "the last writer's version is in force")


def _one_way_notes() -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic("FR503", "note", target, "stays as it is until the process ends, torch offers no undo")
        for target in _process.ledger.irreversible
    )
