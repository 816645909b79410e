"""What is found before anything is planned: the platform, the route file, and what is wrong with either."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flagos_runtime.config.environment import Environment, read_environment
from flagos_runtime.config.search import bundled_routes, chosen_routes
from flagos_runtime.detection import ChosenBy, detect
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.host import LiveHost
from flagos_runtime.plugins import PluginSet, load_plugins
from flagos_runtime.probes import run_probes
from flagos_runtime.records import Detection

if TYPE_CHECKING:
    from flagos_runtime.config.known import Known
    from flagos_runtime.plan import RouteSet


class Facts(NamedTuple):
    """What was found.

    Attributes:
        detection: the platform and why.
        routes: the route file; ``None`` where none was chosen and no platform needs one.
        plugins: who describes which platform.
        diagnostics: findings of environment, plugins and routes.
    """

    detection: Detection
    routes: RouteSet | None
    plugins: PluginSet
    diagnostics: tuple[Diagnostic, ...]


def find_facts(
    platform: str | None = None, routes: str | os.PathLike[str] | None = None, *, with_routes: bool = False
) -> Facts:
    """Find platform and route file.

    Args:
        platform: a platform's name, where somebody gave one.
        routes: a route file, where somebody gave one.
        with_routes: load the shipped route file even where there is no platform that it is for.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
    """
    environment, plugins = read_environment(os.environ), load_plugins()
    path = Path(routes) if routes is not None else chosen_routes(os.environ)
    loaded = _load(path, plugins) if path is not None else None
    detection = _detect(platform, environment, loaded, plugins)
    if loaded is None and (with_routes or detection.platform is not None):
        loaded = _load(bundled_routes(), plugins)
    notes = loaded.diagnostics if loaded is not None else ()
    return Facts(detection, loaded, plugins, (*environment.diagnostics, *plugins.diagnostics, *notes))


def known_names(plugins: PluginSet | None = None) -> Known:
    """Return the names that a route file may use on this machine."""
    from flagos_runtime.config.known import Known
    from flagos_runtime.config.overloads import installed_overloads

    return Known(**_names(load_plugins() if plugins is None else plugins), overloads=installed_overloads())


def _names(plugins: PluginSet) -> dict[str, frozenset[str]]:
    from flagos_runtime.integration.catalogue import PROBES
    from flagos_runtime.integration.routing.backends import BACKENDS

    patches = (spec.id.removeprefix("patch:") for specs in plugins.patches.values() for spec in specs)
    return {
        "platforms": frozenset(item.name for item in plugins.platforms),
        "probes": frozenset(PROBES),
        "patches": frozenset(patches),
        "backends": frozenset(BACKENDS),
    }


def _load(path: Path, plugins: PluginSet) -> RouteSet:
    # both late: the cache is needed for a platform, and pydantic and yaml for a file that changed
    from flagos_runtime.config.cache import cached
    from flagos_runtime.config.overloads import declarations_stamp

    def load() -> RouteSet:
        from flagos_runtime.config.loader import load_routes

        return load_routes(path, known_names(plugins))

    names = {key: sorted(found) for key, found in _names(plugins).items()}
    return cached(path, (names, declarations_stamp()), load, os.environ)


def _detect(platform: str | None, environment: Environment, routes: RouteSet | None, plugins: PluginSet) -> Detection:
    explicit, chosen_by = _explicit(platform, environment, routes)
    host = LiveHost()
    results = {item.name: run_probes(item.probes, host) for item in plugins.platforms}
    return detect(plugins.platforms, results, explicit=explicit, chosen_by=chosen_by)


def _explicit(platform: str | None, environment: Environment, routes: RouteSet | None) -> tuple[str | None, ChosenBy]:
    candidates: tuple[tuple[str | None, ChosenBy], ...] = (
        (platform, "argument"),
        (environment.text("FLAGOS_PLATFORM"), "environment"),
        (routes.platform if routes is not None else None, "routes"),
    )
    for name, chosen_by in candidates:
        if name and name != "auto":
            return name, chosen_by
    return None, "argument"
