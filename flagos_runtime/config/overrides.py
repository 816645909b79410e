"""What the environment says about operators: one variable for each overload, and one for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from flagos_runtime.config.environment import Environment
from flagos_runtime.config.excerpt import either, nearest, shown, suggestion
from flagos_runtime.diagnostics import Diagnostic

FAMILY: Final = "FLAGOS_OP_"


class Named(NamedTuple):
    """The backends that a variable gives an overload, or what is wrong with the variable."""

    overload: str
    variable: str
    use: tuple[str, ...]
    findings: tuple[Diagnostic, ...] = ()


def named_operators(
    environment: Environment, overloads: Callable[[], frozenset[str] | None], backends: frozenset[str]
) -> Iterator[Named]:
    """Yield what each variable ``FLAGOS_OP_<OVERLOAD>`` says; one that is empty says nothing.

    Args:
        environment: the variables.
        overloads: gives those of the installed torch when there is a variable, ``None`` where they are not known.
        backends: names of operator backends.
    """
    lists = {rest: _words(value) for rest, value in environment.family(FAMILY).items()}
    values = {rest: use for rest, use in lists.items() if use}
    known = overloads() if values else None
    spelt = _spellings(known or ())
    earlier: dict[str, str] = {}
    for rest, use in values.items():
        variable = FAMILY + rest
        found = spelt.get(rest.replace(".", "__"), ())
        findings = list(_wrong_backends(variable, use, backends))
        if known is None:
            message = "names of operators are not known, because torch is not installed, so it says nothing"
            findings.append(Diagnostic("FR112", "note", variable, message))
        elif len(found) != 1:
            findings.append(_not_one(variable, found, spelt))
        elif earlier.setdefault(found[0], variable) != variable:
            message = f"{earlier[found[0]]} names {shown(found[0])} as well"
            findings.append(_error("FR115", variable, message, "unset one of the two"))
        yield Named(next(iter(found), ""), variable, use, tuple(findings))


def _words(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))


def _spellings(overloads: frozenset[str] | tuple[()]) -> Mapping[str, tuple[str, ...]]:
    """Return the overloads that each spelling stands for; the one without a name may be written as the default."""
    found: dict[str, tuple[str, ...]] = {}
    for name in overloads:
        word = name.removeprefix("aten::")
        for spelling in {word, word if "." in word else f"{word}.default"}:
            key = spelling.replace(".", "__")
            found[key] = (*found.get(key, ()), name)
    return MappingProxyType(found)


def _not_one(variable: str, found: tuple[str, ...], spelt: Mapping[str, tuple[str, ...]]) -> Diagnostic:
    rest = variable.removeprefix(FAMILY)
    if found:
        message = f"{shown(rest)} may mean {either(found)}"
        return _error("FR112", variable, message, "write a route for the one you mean")
    others = [word for word in spelt if word.startswith(f"{rest}__") and not word.endswith("__default")]
    if others:
        message = f"{shown(rest)} is not an overload but the name of {len(others)}"
        return _error("FR112", variable, message, f"name one, as in {either(FAMILY + word for word in others)}")
    close = nearest(rest, [word for word in spelt if word[:2] == rest[:2]])
    hint = f"did you mean '{FAMILY}{close}'?" if close else "write for instance FLAGOS_OP_sum__dim_IntList"
    return _error("FR112", variable, f"the installed torch has no overload that is spelt {shown(rest)} here", hint)


def _wrong_backends(variable: str, use: tuple[str, ...], backends: frozenset[str]) -> Iterator[Diagnostic]:
    for name in use:
        if name not in backends:
            yield _error("FR113", variable, f"no backend is called {shown(name)}", suggestion(name, backends))
    if "none" in use and len(use) > 1:
        message = "'none' refuses every call, so no other backend can stand beside it"
        yield _error("FR115", variable, message, "write 'none' alone, or leave it out")


def _error(code: str, variable: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code, "error", variable, message, hint)
