"""A route file from its path to records, with every finding on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from flagos_runtime.config.conf import is_conf
from flagos_runtime.config.conf_routes import load_conf
from flagos_runtime.config.flatten import flattened
from flagos_runtime.config.known import Known as Known
from flagos_runtime.config.models import RouteFile
from flagos_runtime.config.search import bundled_routes as bundled_routes
from flagos_runtime.config.search import find_routes as find_routes
from flagos_runtime.config.semantics import contradictions
from flagos_runtime.config.shape import validate
from flagos_runtime.config.source import Document, Steps, parse_document, read_document
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.plan import PlatformRoutes, RouteSet

VERSION: Final = 1
#: Values whose plain dates and decimals are meant as they stand.
LENIENT: Final[frozenset[Steps]] = frozenset({("evidence", "date"), ("evidence", "speedup")})


def load_routes(path: Path, known: Known) -> RouteSet:
    """Return the routes of one file, with `extends` merged in.

    Args:
        path: the file, shown in places as it is given; a conf has routes for `ANY_PLATFORM`.
        known: the names that the file may use.

    Raises:
        ConfigError: the file is wrong; it carries every finding, in the order of the text.
    """
    return load_conf(path, known) if is_conf(path) else _checked(*read_document(path, lenient=LENIENT), known)


def parse_routes(data: bytes, name: str, known: Known) -> RouteSet:
    """Return the routes in the bytes of a route file called *name*, as `load_routes` does."""
    return _checked(*parse_document(data, name, lenient=LENIENT), known)


def _checked(document: Document | None, findings: tuple[Diagnostic, ...], known: Known) -> RouteSet:
    if document is None:
        raise ConfigError(findings)
    if newer := _newer_version(document):
        raise ConfigError((newer,))
    file, misshapen = validate(document)
    findings = _in_order((*findings, *misshapen, *contradictions(document, known)))
    if file is None or findings:
        raise ConfigError(findings)
    return _route_set(file, document, known)


def _route_set(file: RouteFile, document: Document, known: Known) -> RouteSet:
    platforms = flattened(file, document, known.platforms)
    return RouteSet(
        source=document.page.name,
        platform=file.platform,
        autoload=file.autoload,
        profile=file.profile,
        platforms=platforms,
        diagnostics=(*_unchecked_names(platforms, document, known), *_unchecked_kernels(platforms, document, known)),
    )


def _newer_version(document: Document) -> Diagnostic | None:
    """A file of a newer format is one finding: everything else in it would only be misunderstood."""
    version = document.value.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version <= VERSION:
        return None
    message = f"the file has version {version} of the format, wanted {VERSION}"
    return document.at_value("FR104", ("version",), message, "update flagos-runtime, or write the file for version 1")


def _unchecked_names(platforms: Mapping[str, PlatformRoutes], document: Document, known: Known) -> Iterator[Diagnostic]:
    if known.overloads is None and any(item.ops or item.ops_exclude for item in platforms.values()):
        message = "names of operators were not checked, because torch is not installed"
        yield Diagnostic("FR112", "note", document.page.name, message, "check the file where torch is")


def _unchecked_kernels(
    platforms: Mapping[str, PlatformRoutes], document: Document, known: Known
) -> Iterator[Diagnostic]:
    named = frozenset[str]().union(*(item.lone_backends for item in platforms.values()))
    for name in sorted(named & known.tables.keys()):
        if not known.tables[name].available:
            message = f"routes to {name!r} alone were not checked: {known.tables[name].reason}"
            yield Diagnostic("FR119", "note", document.page.name, message)


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=_place))


def _place(finding: Diagnostic) -> tuple[int, ...]:
    return tuple(int(part) for part in finding.where.rsplit(":", 2)[1:])
