"""Plain scalars: what YAML 1.1 makes of them, and where that is not what was written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import yaml
from yaml.resolver import Resolver

PREFIX: Final = "tag:yaml.org,2002:"
#: Written as everybody reads them.
INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
DECIMAL: Final = re.compile(r"-?[0-9]{1,17}\.[0-9]{1,17}")
BOOLEANS: Final = frozenset({"true", "false"})
#: From here on a number is no longer written out in a message; also false for `.nan`.
LARGEST: Final = 10**18
#: How a type of YAML is called in a message.
NOUNS: Final = {"bool": "a boolean", "int": "a number", "float": "a number", "timestamp": "a date"}
#: `=` and `<<` mean something as keys only.
TEXTS: Final = frozenset({"str", "value", "merge"})


@dataclass(frozen=True, slots=True)
class Trap:
    """A scalar that YAML 1.1 reads as something else than its text says."""

    text: str
    reading: str
    hint: str


def has_explicit_tag(node: yaml.ScalarNode) -> bool:
    """Tell whether a tag asks for another type than the scalar would have without it."""
    plain = node.style is None
    return bool(node.tag != Resolver().resolve(yaml.ScalarNode, node.value, (plain, not plain)))  # type: ignore[no-untyped-call]  # the stubs leave it untyped


def value_of(node: yaml.ScalarNode, *, lenient: bool) -> object | Trap:
    """Return the value of a scalar, or the trap that it is.

    Args:
        node: the scalar; without an explicit tag.
        lenient: a plain date stands for its text, and a decimal for its number, trailing zeros or not.
    """
    text, kind = str(node.value), _kind(node)
    if kind in TEXTS or (kind == "timestamp" and lenient):
        return text
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in BOOLEANS:
        return text.lower() == "true"
    if kind == "int" and INTEGER.fullmatch(text):
        return int(text)
    if kind == "float" and DECIMAL.fullmatch(text) and (lenient or repr(float(text)) == text):
        return float(text)
    return _trap(node, text, kind)


def _kind(node: yaml.ScalarNode) -> str:
    return str(node.tag).removeprefix(PREFIX)


def _trap(node: yaml.ScalarNode, text: str, kind: str) -> Trap:
    value = _constructed(node)
    noun = NOUNS[kind]
    if isinstance(value, bool):
        word = str(value).lower()
        return Trap(text, f"the boolean {word}", f"quote it: '{text}'; a boolean is written {word}")
    if isinstance(value, (int, float)) and abs(value) < LARGEST:
        return Trap(text, f"the number {value}", f"quote it: '{text}'; a number is written {value}")
    return Trap(text, noun, f"quote it: '{text}'")


def _constructed(node: yaml.ScalarNode) -> object:
    """Return what a YAML 1.1 loader makes of *node*, ``None`` where even that fails."""
    try:
        return yaml.SafeLoader("").construct_object(node)
    except ValueError:
        return None
