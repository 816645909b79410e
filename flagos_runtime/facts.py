"""What is found before anything is planned: the platform, the route file, and what is wrong with either."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flagos_runtime.config.environment import Environment, read_environment
from flagos_runtime.config.search import bundled_routes, chosen_routes
from flagos_runtime.detection import ChosenBy, detect
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.host import HostView, LiveHost
from flagos_runtime.names import GEMS_VENDOR, require_vendor, vendor_warnings
from flagos_runtime.plugins import PluginSet, load_plugins
from flagos_runtime.probes import run_probes
from flagos_runtime.records import BackendTable, Detection, OpBackend, Status

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
        environment: what the variables say.
    """

    detection: Detection
    routes: RouteSet | None
    plugins: PluginSet
    diagnostics: tuple[Diagnostic, ...]
    environment: Environment


def find_facts(
    platform: str | None = None,
    routes: str | os.PathLike[str] | None = None,
    *,
    with_routes: bool = False,
    host: HostView | None = None,
) -> Facts:
    """Find platform and route file.

    Args:
        platform: a platform's name, where somebody gave one.
        routes: a route file, where somebody gave one.
        with_routes: load the shipped route file even where there is no platform that it is for.
        host: who is asked, this machine where it is ``None``; the route file is this machine's in any case.

    Raises:
        ConfigError: a name, the environment or the route file is wrong.
    """
    host = LiveHost() if host is None else host
    environment, plugins = read_environment(host.environment), load_plugins()
    vendor = environment.text(GEMS_VENDOR)
    require_vendor(vendor, plugins.platforms)
    path = Path(routes) if routes is not None else chosen_routes(os.environ)
    loaded = _load(path, plugins) if path is not None else None
    detection = _detect(plugins, host, _explicit(platform, environment, loaded))
    if loaded is None and (with_routes or detection.platform is not None):
        loaded = _load(bundled_routes(), plugins)
    notes = loaded.diagnostics if loaded is not None else ()
    doubts = vendor_warnings(vendor, plugins.platforms, detection.platform)
    found = (*environment.diagnostics, *plugins.diagnostics, *notes, *doubts)
    return Facts(detection, loaded, plugins, found, environment)


def idle_status(facts: Facts) -> Status:
    """Return the status of a process in which there is nothing to activate."""
    platform = facts.detection.platform
    found = "no usable platform" if platform is None else f"platform '{platform.name}' has no device in torch"
    candidates = facts.detection.candidates
    # a dozen platforms that are not there say nothing to somebody who asks why; the detection has each reason
    there = [f"{item.platform}: {item.reason}" for item in candidates if item.presence != "absent"]
    absent = len(candidates) - len(there)
    reasons = "; ".join([*there, f"{absent} others are absent"] if absent else there) or "no platform is known"
    source = facts.routes.source if facts.routes is not None else ""
    return Status(
        "inactive",
        f"{found}: {reasons}",
        routes=source,
        detection=facts.detection,
        diagnostics=facts.diagnostics,
    )


def find_route_set(path: Path | None = None) -> RouteSet:
    """Return the routes of the file at *path*, else of the one that activation takes; nothing is asked of the host.

    Raises:
        ConfigError: the file is wrong.
    """
    return _load(path or chosen_routes(os.environ) or bundled_routes(), load_plugins())


def known_names(plugins: PluginSet | None = None) -> Known:
    """Return the names that a route file may use on this machine."""
    from flagos_runtime.backends import tables_of
    from flagos_runtime.config.known import Known
    from flagos_runtime.config.overloads import installed_overloads, installed_traits

    plugins = load_plugins() if plugins is None else plugins
    names, table_of = _names(plugins), tables_of(operator_backends(plugins))
    tables = {name: table_of(name) for name in names["backends"]}
    return Known(**names, overloads=installed_overloads(), tables=tables, traits=installed_traits())


def operator_backends(plugins: PluginSet) -> tuple[OpBackend, ...]:
    """Return every backend that a route may name: this runtime's, then those of the *plugins*."""
    from flagos_runtime.integration.routing.backends import BACKENDS

    return (*BACKENDS, *plugins.backends)


def _names(plugins: PluginSet) -> dict[str, frozenset[str]]:
    from flagos_runtime.config.conf_words import vendor_words
    from flagos_runtime.integration.catalogue import PATCHES, PROBES

    patches = (spec.id.removeprefix("patch:") for specs in (PATCHES, *plugins.patches.values()) for spec in specs)
    return {
        "platforms": frozenset(item.name for item in plugins.platforms),
        "probes": frozenset(PROBES),
        "patches": frozenset(patches),
        "backends": frozenset(item.name for item in operator_backends(plugins)),
        "vendors": vendor_words(plugins.platforms),
    }


def _load(path: Path, plugins: PluginSet) -> RouteSet:
    # all late: the cache is needed for a platform, and pydantic and yaml for a file that changed
    from flagos_runtime.backends import tables_of
    from flagos_runtime.config.cache import cached
    from flagos_runtime.config.conf import conf_stamp, is_conf
    from flagos_runtime.config.overloads import declarations_stamp

    def load() -> RouteSet:
        from flagos_runtime.config.loader import load_routes

        return load_routes(path, known_names(plugins))

    names = {key: sorted(found) for key, found in _names(plugins).items()}
    table_of = tables_of(operator_backends(plugins))
    # the lines of a conf that a backend cannot serve are left out, and its routes do not name that backend any more
    conf = (conf_stamp(path), [_served(table_of(name)) for name in names["backends"]]) if is_conf(path) else ()
    routes = cached(path, (names, declarations_stamp(), conf), load, os.environ, table_of)
    return _spread(routes, plugins) if is_conf(path) else routes


def _served(table: BackendTable) -> tuple[object, ...]:
    return table.available, table.reason, sorted(table.overloads or ())


def _spread(conf: RouteSet, plugins: PluginSet) -> RouteSet:
    from flagos_runtime.config.conf_routes import spread

    return spread(conf, _load(bundled_routes(), plugins), frozenset(item.name for item in plugins.platforms))


def _detect(plugins: PluginSet, host: HostView, named: tuple[str | None, ChosenBy]) -> Detection:
    explicit, chosen_by = named
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
