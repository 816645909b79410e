"""Facts to a plan: what activation would do here, found without changing anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagos_runtime.config.environment import Environment, read_environment
from flagos_runtime.config.search import bundled_routes, chosen_routes
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.host import LiveHost
from flagos_runtime.plugins import PluginSet, load_plugins
from flagos_runtime.probes import run_probes
from flagos_runtime.records import Detection, Plan, PlatformRoutes, RouteSet
from flagos_runtime.resolver import ChosenBy, detect, resolve

if TYPE_CHECKING:
    from flagos_runtime.config.known import Known

Lookup = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Preview:
    """What activation would do here.

    Attributes:
        detection: the platform and why.
        routes: the route file; ``None`` where none was chosen and no platform needs one.
        plan: ordered steps with a decision for each.
        diagnostics: findings of plugins, environment and routes.
        plugins: what was found by them.
    """

    detection: Detection
    routes: RouteSet | None
    plan: Plan
    diagnostics: tuple[Diagnostic, ...]
    plugins: PluginSet


def facts(platform: str | None, routes: str | os.PathLike[str] | None) -> Preview:
    """Find platform and routes; the plan stays empty, since its conditions ask torch.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
    """
    environment, plugins = read_environment(os.environ), load_plugins()
    path = Path(routes) if routes is not None else chosen_routes(os.environ)
    loaded = _load(path, plugins) if path is not None else None
    detection = _detect(platform, environment, loaded, plugins)
    if loaded is None and detection.platform is not None:
        loaded = _load(bundled_routes(), plugins)
    notes = loaded.diagnostics if loaded is not None else ()
    diagnostics = (*environment.diagnostics, *plugins.diagnostics, *notes)
    return Preview(detection, loaded, Plan(detection.platform), diagnostics, plugins)


def with_routes(found: Preview) -> Preview:
    """Return *found* with the bundled routes where it has none."""
    return found if found.routes is not None else replace(found, routes=_load(bundled_routes(), found.plugins))


def resolved(found: Preview, original: Lookup, answers: Mapping[str, bool | None] | None = None) -> Preview:
    """Return *found* with its plan.

    Args:
        found: what `facts` returned.
        original: looks a probe up as torch made it.
        answers: the probes' answers, for whoever wants to see what other ones would lead to.

    Raises:
        ResolveError: the routes give no plan.
    """
    # imported late: without a platform there is nothing to plan, and torch may stay unloaded
    from flagos_runtime.integration.catalogue import catalogue
    from flagos_runtime.integration.torch_probes import answers_of

    platform = found.detection.platform
    if platform is None or found.routes is None:
        return found
    routes = found.routes.of(platform.name)
    plan = resolve(
        platform,
        routes,
        catalogue(found.plugins.patches.get(platform.name, ())),
        answers=answers_of(_conditions(routes), original) if answers is None else answers,
        switches=_switches(routes),
    )
    return replace(found, plan=plan)


def known_names(plugins: PluginSet | None = None) -> Known:
    """Return the names that a route file may use on this machine."""
    from flagos_runtime.config.known import Known
    from flagos_runtime.config.overloads import installed_overloads
    from flagos_runtime.integration.catalogue import PROBES
    from flagos_runtime.integration.routing.backends import BACKENDS

    found = load_plugins() if plugins is None else plugins
    return Known(
        platforms=frozenset(item.name for item in found.platforms),
        probes=frozenset(PROBES),
        patches=frozenset(spec.id.removeprefix("patch:") for specs in found.patches.values() for spec in specs),
        backends=frozenset(BACKENDS),
        overloads=installed_overloads(),
    )


def _load(path: Path, plugins: PluginSet) -> RouteSet:
    from flagos_runtime.config.loader import load_routes  # late: pydantic and yaml cost more than detection

    return load_routes(path, known_names(plugins))


def _detect(platform: str | None, environment: Environment, routes: RouteSet | None, plugins: PluginSet) -> Detection:
    explicit, chosen_by = _explicit(platform, environment, routes)
    host = LiveHost()
    results = {item.name: run_probes(item.probes, host) for item in plugins.platforms}
    return detect(plugins.platforms, results, explicit=explicit, chosen_by=chosen_by)


def _explicit(platform: str | None, environment: Environment, routes: RouteSet | None) -> tuple[str | None, ChosenBy]:
    written = routes.platform if routes is not None else "auto"
    candidates: tuple[tuple[str | None, ChosenBy], ...] = (
        (platform, "argument"),
        (environment.text("FLAGOS_PLATFORM"), "environment"),
        (written, "routes"),
    )
    return next(((name, by) for name, by in candidates if name and name != "auto"), (None, "argument"))


def _conditions(routes: PlatformRoutes) -> tuple[str, ...]:
    return tuple(name for alias in routes.aliases for name in alias.when.original_false)


def _switches(routes: PlatformRoutes) -> dict[str, bool]:
    environment = read_environment(os.environ)
    names = (alias.when.switch_on for alias in routes.aliases)
    return {name: environment.switch(name) for name in names if name}
