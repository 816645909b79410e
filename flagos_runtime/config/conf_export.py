"""Operator routes as lines of an upstream conf, and which of them such a file cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flagos_runtime.config.conf_routes import KEPT
from flagos_runtime.config.conf_words import BACKENDS
from flagos_runtime.config.patterns import NAMESPACE, canonical, matched
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.plan import OpRoute


class Exported(NamedTuple):
    """The word of each overload, by its name without ``aten::``, and what was left out."""

    words: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]


def exported(
    routes: tuple[OpRoute, ...], overloads: frozenset[str] | None, vendor: str, *, lossy: bool = False
) -> Exported:
    """Return the lines that *routes* come to; an exact name wins over a pattern, wherever it stands.

    Args:
        routes: the operator routes of one platform.
        overloads: those of the installed torch, which patterns stand for; ``None`` without torch.
        vendor: the word for the vendor's own kernel.
        lossy: leave out what a conf cannot express, with a warning.

    Raises:
        ConfigError: a route has no form in a conf (FR121), and *lossy* is not set.
    """
    words = {**BACKENDS, "vendor": vendor}
    exact = {canonical(route.pattern) for route in routes if not route.pattern.endswith(".*")}
    found: dict[str, str] = {}
    lost: list[Diagnostic] = []
    for route in routes:
        reasons = tuple(_reasons(route, words, overloads))
        if reasons:
            lost.append(_lost(route, " and ".join(reasons), lossy=lossy))
            continue
        for name in _names(route, exact, overloads or frozenset()):
            found[name.removeprefix(NAMESPACE)] = words[route.use[0]]
    if lost and not lossy:
        raise ConfigError(tuple(lost))
    return Exported(found, tuple(lost))


def conf_text(words: Mapping[str, str], made: str) -> str:
    """Return the conf with *made* as its first line."""
    return (
        "\n".join([f"# {' '.join(made.split())}", "# Format: op_name = backend", "", *map(" = ".join, words.items())])
        + "\n"
    )


def _names(route: OpRoute, exact: set[str], overloads: frozenset[str]) -> Iterator[str]:
    if route.pattern.endswith(".*"):
        yield from (name for name in matched(route.pattern, overloads) if name not in exact)
    else:
        yield canonical(route.pattern)


def _reasons(route: OpRoute, words: Mapping[str, str], overloads: frozenset[str] | None) -> Iterator[str]:
    # a reader of confs leaves an operator without such a kernel to the device too
    if route.use[1:] not in {(), (KEPT,)}:
        yield f"has {len(route.use)} backends"
    yield from (f"has the backend '{name}'" for name in route.use if name not in words)
    if route.guard:
        yield "has a guard"
    if route.on_failure != "raise":
        yield f"has 'on_failure: {route.on_failure}'"
    if route.pattern.endswith(".*") and overloads is None:
        yield "stands for overloads that are not known, because torch is not installed"


def _lost(route: OpRoute, reason: str, *, lossy: bool) -> Diagnostic:
    message = f"'{route.pattern}' {reason}, which an upstream conf cannot express"
    if lossy:
        return Diagnostic("FR121", "warning", route.where, f"{message}; it is left out")
    return Diagnostic("FR121", "error", route.where, message, "pass --lossy to leave it out, or simplify the route")
