"""Upstream confs made into a route file, and the routes of a platform made into a conf."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from flagos_runtime.config.conf import platform_in_name
from flagos_runtime.config.conf_export import conf_text, exported
from flagos_runtime.config.conf_routes import ConfTable, read_table
from flagos_runtime.config.conf_words import vendor_word
from flagos_runtime.config.conf_yaml import routes_text
from flagos_runtime.config.excerpt import either, suggestion
from flagos_runtime.config.known import Known
from flagos_runtime.config.loader import bundled_routes, load_routes, parse_routes
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.facts import find_route_set, known_names
from flagos_runtime.plan import RouteSet
from flagos_runtime.plugins import load_plugins


class Converted(NamedTuple):
    """A file to write: its text, backend or word by overload for each platform in it, and what was left out."""

    text: str
    routes: Mapping[str, Mapping[str, str]]
    diagnostics: tuple[Diagnostic, ...]


def import_confs(files: tuple[Path, ...], platform: str | None = None) -> Converted:
    """Return the route file that the confs come to; of confs for one platform the later wins.

    Args:
        files: the confs.
        platform: whose routes they are, else the names of the files say it.

    Raises:
        ConfigError: no platform is named, or a conf is wrong; it carries every finding.
    """
    known = known_names()
    tables = _tables(_by_platform(files, platform, known), known)
    shipped = load_routes(bundled_routes(), known)
    made = f"Imported by flagos-runtime from {', '.join(path.name for path in files)}."
    text = routes_text(tables, {name: shipped.of(name) for name in tables}, made)
    # what this program writes it has to be able to read
    parse_routes(text.encode(), "the imported routes", known)
    found = tuple(item for table in tables.values() for item in table.diagnostics)
    return Converted(text, {name: _first(table) for name, table in tables.items()}, found)


def export_conf(
    routes: Path | None, platform: str | None = None, *, vendor: str | None = None, lossy: bool = False
) -> Converted:
    """Return the conf that the routes of one platform come to.

    Args:
        routes: the route file, else the one that activation would take.
        platform: whose routes, else those of the only platform that has some.
        vendor: the word for the vendor's own kernel, else the one that upstream has for the platform.
        lossy: leave out what a conf cannot express.

    Raises:
        ConfigError: the file is wrong, the platform is not clear, or a conf cannot express its routes.
    """
    found = find_route_set(routes)
    name = platform or _only_platform(found)
    word = vendor or next((vendor_word(item) for item in load_plugins().platforms if item.name == name), name)
    lines = exported(found.of(name).ops, known_names().overloads, word, lossy=lossy)
    made = f"flagos op backend config for {name}, exported by flagos-runtime from {Path(found.source).name}"
    return Converted(conf_text(lines.words, made), {name: lines.words}, lines.diagnostics)


def _first(table: ConfTable) -> dict[str, str]:
    return {name: use[0] for name, use in table.uses.items()}


def _by_platform(files: tuple[Path, ...], platform: str | None, known: Known) -> Mapping[str, tuple[Path, ...]]:
    if platform is not None and platform not in known.platforms:
        hint = suggestion(platform, known.platforms)
        raise ConfigError((Diagnostic("FR108", "error", "--platform", f"no platform is called '{platform}'", hint),))
    grouped: dict[str, tuple[Path, ...]] = {}
    nameless: list[Diagnostic] = []
    for path in files:
        name = platform or platform_in_name(path, known.platforms)
        if name is None:
            nameless.append(_nameless(path, known))
        else:
            grouped[name] = (*grouped.get(name, ()), path)
    if nameless:
        raise ConfigError(tuple(nameless))
    return grouped


def _nameless(path: Path, known: Known) -> Diagnostic:
    message = "the name of the file names no platform, wanted 'backends_<platform>.conf'"
    return Diagnostic("FR108", "error", str(path), message, f"pass --platform with {either(known.platforms, most=99)}")


def _tables(grouped: Mapping[str, tuple[Path, ...]], known: Known) -> dict[str, ConfTable]:
    """Read every file before anything is refused, so that all findings come at once."""
    tables: dict[str, ConfTable] = {}
    findings: list[Diagnostic] = []
    wrong = False
    for name, paths in grouped.items():
        try:
            tables[name] = read_table(paths, known)
            findings += tables[name].diagnostics
        except ConfigError as error:
            findings += error.diagnostics
            wrong = True
    if wrong:
        raise ConfigError(tuple(findings))
    return tables


def _only_platform(routes: RouteSet) -> str:
    named = [routes.platform] if routes.platform != "auto" else []
    found = named or sorted(name for name, entry in routes.platforms.items() if entry.ops)
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} platforms have" if found else "no platform has"
    hint = f"pass --platform with {either(found or routes.platforms, most=99)}"
    raise ConfigError((Diagnostic("FR108", "error", routes.source, f"{what} operator routes, wanted one", hint),))
