"""The composition root: carries a plan out in this process, once, and holds the only process-wide state."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagos_runtime.config.environment import read_environment
from flagos_runtime.errors import ActivationError
from flagos_runtime.facts import Facts, find_facts, idle_status, known_names, operator_backends
from flagos_runtime.records import Status, StepSpec

if TYPE_CHECKING:
    from flagos_runtime.config.known import Known
    from flagos_runtime.diagnostics import Diagnostic
    from flagos_runtime.integration.aliases.apis import ApiRow
    from flagos_runtime.integration.context import Context
    from flagos_runtime.ledger import Ledger
    from flagos_runtime.plan import Explanation
    from flagos_runtime.preview import Preview

# Imports inside functions below: a host without a platform must not pay for planning, installing or reporting.

log = logging.getLogger(__name__)
patch_log = logging.getLogger("flagos_runtime.patch")


class _Process:
    """Everything that this package knows of this process.

    Attributes:
        lock: held while a plan is carried out or taken back.
        context: what the installed wrappers look at; ``None`` while inactive.
        activations: how often a plan was carried out.
        importing: threads whose ``import torch`` is ours, so that the entry point leaves the work to them.
        asking: true inside `asking_torch`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.status = Status("inactive", "nothing has asked for activation yet")
        self.preview: Preview | None = None
        self.context: Context | None = None
        self.activations = 0
        self.importing: set[int] = set()
        self.asking: ContextVar[bool] = ContextVar("flagos_asking_torch", default=False)

    @cached_property
    def ledger(self) -> Ledger:
        """The one ledger."""
        from flagos_runtime.ledger import Ledger

        return Ledger()


_process = _Process()


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
    if _is_active_as(platform, routes):
        return _process.status
    with _no_collection():
        return _activated(find_facts(platform, routes))


def deactivate() -> Status:
    """Put every original back and return the status, which names what had to stay.

    A place that another writer has changed since is left alone, with a warning that names it.
    """
    from flagos_runtime import statuses

    with _process.lock:
        if _process.status.state != "active":
            return _process.status
        reports = _take_back()
        _process.status = statuses.deactivated(_process.status, _process.ledger, reports)
    for report in reports:
        warnings.warn(str(report), RuntimeWarning, stacklevel=2)
    return _process.status


def status() -> Status:
    """Return what this process looks like now."""
    with _process.lock:
        if _process.status.state != "active" or _process.preview is None:
            return _process.status
        from flagos_runtime import statuses

        found = statuses.with_drift(_process.status, _process.preview.plan, _process.ledger)
        return replace(found, operators=_process.context.counts.records()) if _process.context else found


def original(target: str) -> Any:  # noqa: ANN401 - whatever stood there
    """Return what stood at a dotted *target* before this runtime wrote it, whoever has written since.

    Where this runtime wrote nothing, that is the live value.

    Raises:
        LookupError: there is no such target.
    """
    from flagos_runtime.ledger import locate

    return _process.ledger.original(*locate(target))


@contextmanager
def asking_torch() -> Iterator[None]:
    """Let redirected probes answer for torch itself inside the block, for the code of this thread or task alone."""
    token = _process.asking.set(True)
    try:
        yield
    finally:
        _process.asking.reset(token)


def alias_active(name: str) -> bool:
    """Tell whether *name* means the canonical device in this process."""
    return any(alias.name == name and alias.active for alias in _process.status.aliases)


def explain(name: str) -> Explanation:
    """Return what is known of an alias, a target or an ATen overload, and why it is so."""
    from flagos_runtime.explanation import explain_name

    return explain_name(name, status(), (_process.preview or preview()).plan, _process.ledger)


def active_context() -> Context:
    """Return what this process was activated with, for a survey.

    Raises:
        ActivationError: nothing is active.
    """
    if _process.context is None:
        raise ActivationError(f"nothing is active in this process: {_process.status.reason}")
    return _process.context


def preview(platform: str | None = None, routes: str | os.PathLike[str] | None = None) -> Preview:
    """Return what `activate` would do, without changing anything.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
    """
    from flagos_runtime.preview import preview_of

    facts = find_facts(platform, routes, with_routes=True)
    if facts.detection.platform is not None:
        _import_torch()
    return preview_of(facts, original)


def known() -> Known:
    """Return the names that a route file may use on this machine."""
    return known_names()


def api_table() -> tuple[ApiRow, ...]:
    """Return what becomes of each public name of ``torch.cuda`` under the alias."""
    from flagos_runtime.integration.aliases import apis

    return apis.api_table()


# -- triggers -------------------------------------------------------------------------------------------------------


def on_import() -> None:
    """Activate because the package was imported, unless it is switched off or somebody else does it.

    Torch imports the package while it loads the entry point, which then decides for itself; the command line activates
    where a command asks for it.
    """
    if not (_is_off() or _is_command_line() or _is_loaded_by_torch()):
        _report(activate())


def on_autoload() -> None:
    """Activate because torch is being imported, where the routes allow that."""
    if _is_off() or _is_command_line() or threading.get_ident() in _process.importing:
        return
    with _no_collection():
        facts = find_facts()
        rule = facts.routes.autoload if facts.routes is not None else "accelerator"
        if rule == "always" or (rule == "accelerator" and facts.detection.platform is not None):
            _report(_activated(facts))


def _report(found: Status) -> None:
    for diagnostic in found.diagnostics:
        if diagnostic.severity != "note":
            log.warning("%s", diagnostic)


def _is_off() -> bool:
    if read_environment(os.environ).switch("FLAGOS_RUNTIME"):
        return False
    _process.status = Status("disabled", "FLAGOS_RUNTIME is off")
    return True


def _is_command_line() -> bool:
    words = sys.orig_argv
    as_module = any(words[i : i + 2] == ["-m", "flagos_runtime"] for i in range(len(words)))
    return as_module or any(Path(word).name == "flagos-runtime" for word in words[:2])


def _is_loaded_by_torch() -> bool:
    """Tell whether this thread is inside torch's loop over its entry points."""
    frame = sys._getframe()
    while (caller := frame.f_back) is not None:
        frame = caller
        if frame.f_code.co_name == "_import_device_backends" and frame.f_globals.get("__name__") == "torch":
            return True
    return False


def _import_torch() -> None:
    """Import torch outside the lock: its import runs the entry point, maybe in a thread that waits for ours."""
    me = threading.get_ident()
    _process.importing.add(me)
    try:
        import_module("flagos_runtime.integration.torch_import")
        import_module("flagos_runtime.integration.context")
    finally:
        _process.importing.discard(me)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold the garbage collector back: thousands of kernels that stay would have it walk all of torch several times."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# -- carrying out -----------------------------------------------------------------------------------------------------


def _activated(facts: Facts) -> Status:
    platform = facts.detection.platform
    idle = platform is None or platform.device_type is None
    if not idle:
        _import_torch_for(facts)
    with _process.lock:
        if _process.status.state == "active":
            return _again(facts)
        if idle:
            _process.status = idle_status(facts)
            return _process.status
        from flagos_runtime.preview import preview_of

        found = preview_of(facts, original)
        return _install(found, found.plan.steps)


def _import_torch_for(facts: Facts) -> None:
    try:
        _import_torch()
        _load_device(facts)
    except ActivationError as error:
        _process.status = replace(
            idle_status(facts), reason=str(error), diagnostics=(*facts.diagnostics, *error.diagnostics)
        )
        raise


def _load_device(facts: Facts) -> None:
    from flagos_runtime.integration.vendor import load_device

    if facts.detection.platform is not None:
        load_device(facts.detection.platform)


def _install(found: Preview, steps: Sequence[StepSpec]) -> Status:
    """Install *steps* in this order, or nothing at all."""
    from flagos_runtime import logs, statuses

    context = _context(found)
    logs.enable(context.environment.text(logs.VARIABLE))
    for step in steps:
        try:
            _installer(step)(context, step)
            patch_log.info("%s -> %s", step.id, step.target)
        except Exception as exc:
            context.live.on = False
            _process.ledger.restore()
            _process.status = statuses.failed(found, _process.ledger, step, exc)
            text = f"step '{step.id}' failed and everything was put back: {exc}"
            raise ActivationError(text, step=step.id) from exc
    _process.context, _process.preview = context, found
    _process.activations += 1
    _process.status = statuses.active(found, _process.ledger)
    return _process.status


def _context(found: Preview) -> Context:
    from flagos_runtime.integration.aliases.names import Live
    from flagos_runtime.integration.context import Context

    platform = found.detection.platform
    if platform is None or platform.device_type is None:
        raise ActivationError("there is no device that steps could be installed for")
    environment = found.facts.environment
    backends = {item.name: item for item in operator_backends(found.facts.plugins)}
    operators = found.plan.operators
    return Context(_process.ledger, platform, environment, _process.asking, Live(), operators, backends)


def _installer(step: StepSpec) -> Callable[[Context, StepSpec], None]:
    module, _, function = step.installer.partition(":")
    installer: Callable[[Context, StepSpec], None] = getattr(import_module(module), function)
    return installer


def _take_back() -> tuple[Diagnostic, ...]:
    if _process.context is not None:
        _process.context.live.on = False
    _process.context = None
    return _process.ledger.restore()


def _is_active_as(platform: str | None, routes: str | os.PathLike[str] | None) -> bool:
    found = _process.status
    same_routes = routes is None or os.fspath(routes) == found.routes
    return found.state == "active" and same_routes and platform in {None, found.platform}


def _again(facts: Facts) -> Status:
    """Answer a second activation: the same wish changes nothing, another one is refused."""
    platform = facts.detection.platform
    if platform is not None and platform.name == _process.status.platform:
        return _process.status
    wanted = platform.name if platform is not None else None
    raise ActivationError(
        f"platform '{wanted}' was asked for, but '{_process.status.platform}' is active in this process; "
        "call flagos_runtime.deactivate() first"
    )
