"""The environment, read once into typed values; loads neither yaml nor pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, NamedTuple

from flagos_runtime.config.variables import FALSE_WORDS, TRUE_WORDS, VARIABLES, Kind, Variable, environment_page
from flagos_runtime.diagnostics import Diagnostic

__all__ = ["VARIABLES", "Environment", "Variable", "environment_page", "read_environment", "switch_names"]

OURS: Final = "FLAGOS_"
SIZE: Final = re.compile(r"([0-9]{1,18})\s*(?:([KMGT])(?:I?B)?)?", re.IGNORECASE)
UNITS: Final = MappingProxyType({"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40})


class Environment(NamedTuple):
    """Values of the variables in `VARIABLES`, with a warning for each that was not understood.

    A getter raises ``LookupError`` for a name that is not declared, or is of another kind.
    """

    values: Mapping[str, bool | int | str] = field(default_factory=lambda: MappingProxyType({}))
    families: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    diagnostics: tuple[Diagnostic, ...] = ()

    def switch(self, name: str) -> bool:
        """Return the state of a switch."""
        value = self.values[_declared(name, "switch")]
        return value is True

    def choice(self, name: str) -> str:
        """Return the chosen word, empty where the variable is not set."""
        return str(self.values[_declared(name, "choice")])

    def text(self, name: str) -> str:
        """Return the text of a variable, empty where it is not set; of a comma list, its known words."""
        return str(self.values[_declared(name, "text", "path", "foreign")])

    def integer(self, name: str) -> int:
        """Return a number; sizes are in bytes."""
        return int(self.values[_declared(name, "integer")])

    def family(self, prefix: str) -> Mapping[str, str]:
        """Return the values of a family as they are set, by the rest of their names."""
        return self.families[prefix]


def read_environment(env: Mapping[str, str]) -> Environment:
    """Read the variables that this runtime knows from *env*."""
    findings: list[Diagnostic] = []
    values = {item.name: _value(item, env.get(item.name, ""), findings) for item in VARIABLES if not item.is_prefix}
    families = {item.name: MappingProxyType(_family(item.name, env)) for item in VARIABLES if item.is_prefix}
    findings.extend(_unknown(env))
    return Environment(MappingProxyType(values), MappingProxyType(families), tuple(findings))


def switch_names() -> frozenset[str]:
    """Return the names that a route may name as its switch."""
    return frozenset(item.name for item in VARIABLES if item.kind == "switch")


def _declared(name: str, *kinds: Kind) -> str:
    found = next((item.kind for item in VARIABLES if item.name == name), None)
    if found not in kinds:
        what = "not declared" if found is None else f"of kind '{found}', wanted {' or '.join(kinds)}"
        raise LookupError(f"variable '{name}' is {what}")
    return name


def _family(prefix: str, env: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in env.items() if _is_member(name, prefix)}


def _is_member(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name != prefix


# -- values ---------------------------------------------------------------------------------------------------------


def _value(item: Variable, raw: str, findings: list[Diagnostic]) -> bool | int | str:
    text = raw.strip()
    if item.kind == "text" and item.choices:
        return ",".join(_known_words(item, text, findings))
    value = _parsed(item, text) if text else None
    if value is None:
        if text:
            findings.append(_not_understood(item, text))
        value = _parsed(item, item.default)
    return "" if value is None else value


def _parsed(item: Variable, text: str) -> bool | int | str | None:
    """Return the value of *text*, ``None`` where it has none."""
    if item.kind == "switch":
        word = text.lower()
        return (word in TRUE_WORDS) if word in TRUE_WORDS + FALSE_WORDS else None
    if item.kind == "choice":
        return text.lower() if text.lower() in item.choices else None
    if item.kind == "integer":
        return _number(item, text)
    return text


def _number(item: Variable, text: str) -> int | None:
    found = SIZE.fullmatch(text)
    # a unit is for sizes, which have no upper bound
    if found is None or (found[2] and item.most is not None):
        return None
    number = int(found[1]) * (UNITS[found[2].upper()] if found[2] else 1)
    return number if item.least <= number and (item.most is None or number <= item.most) else None


def _known_words(item: Variable, text: str, findings: list[Diagnostic]) -> Iterator[str]:
    for part in text.split(","):
        word = part.strip().lower()
        if word in item.choices:
            yield word
        elif word:
            wanted = ", ".join(item.choices)
            message = f"{_quoted(word)} means nothing here, wanted some of {wanted}"
            findings.append(_warning(item.name, message, "it is left out meanwhile"))


# -- warnings -------------------------------------------------------------------------------------------------------


def _not_understood(item: Variable, text: str) -> Diagnostic:
    default = f"the default '{item.default}' is taken" if item.default else "it is taken as not set"
    return _warning(item.name, f"{_quoted(text)} is not understood, wanted {_wanted(item)}", f"{default} meanwhile")


def _wanted(item: Variable) -> str:
    if item.kind == "switch":
        return f"{'/'.join(TRUE_WORDS)} or {'/'.join(FALSE_WORDS)}"
    if item.choices:
        return " or ".join(f"'{word}'" for word in item.choices)
    return f"a number from {item.least} to {item.most}" if item.most else "a number of bytes, or one such as 512M or 4G"


def _unknown(env: Mapping[str, str]) -> Iterator[Diagnostic]:
    prefixes = tuple(item.name for item in VARIABLES if item.is_prefix)
    names = {item.name for item in VARIABLES}
    for name in sorted(env):
        is_member = any(_is_member(name, prefix) for prefix in prefixes)
        is_known = name in names and name not in prefixes
        if name.startswith(OURS) and not is_known and not is_member:
            yield _warning(name, "no variable of this name is read", _guess(name, names - {name}))


def _guess(name: str, names: set[str]) -> str:
    # imported late: needed for a wrong name only, and this module is imported with the package
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return f"did you mean '{close[0]}'?" if close else "docs/environment.md lists the names"


def _quoted(text: str) -> str:
    return f"'{''.join(char if char.isprintable() else '?' for char in text[:60])}'"


def _warning(name: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic("FR116", "warning", name, message, hint)
