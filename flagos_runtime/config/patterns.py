"""Names of ATen overloads in routes, checked against those of the installed torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from flagos_runtime.config.excerpt import either, nearest, shown
from flagos_runtime.config.overloads import canonical as canonical
from flagos_runtime.config.overloads import matched as matched

NAMESPACE: Final = "aten::"
FORM: Final = re.compile(r"aten::[A-Za-z_]\w*(\.(\w+|\*))?")
#: What operators begin with in other notations, and in other namespaces.
OTHER_PREFIX: Final = re.compile(r"\w+::|(torch\.)?(ops\.)?(aten\.)?|flag_gems\.")


def pattern_problem(pattern: str, overloads: frozenset[str] | None) -> tuple[str, str] | None:
    """Return what is wrong with *pattern* and what to do, ``None`` where it names at least one overload.

    Args:
        pattern: ``aten::name.overload``, ``aten::name`` or ``aten::name.*``.
        overloads: those that exist; ``None`` checks the form alone.
    """
    if overloads is None:
        return None if FORM.fullmatch(pattern) else _malformed(pattern, frozenset())
    if not FORM.fullmatch(pattern):
        return _malformed(pattern, overloads)
    if pattern.endswith(".*"):
        return None if matched(pattern, overloads) else _unknown(pattern, overloads)
    if canonical(pattern) in overloads:
        return None
    return _bare(pattern, overloads) or _unknown(pattern, overloads)


def _malformed(pattern: str, overloads: frozenset[str]) -> tuple[str, str]:
    message = f"{shown(pattern)} is no name of an ATen overload, wanted 'aten::name.overload' or 'aten::name.*'"
    if "*" in pattern:
        return message, "'*' stands for the overloads of one operator, as in 'aten::sort.*'"
    return message, _offer(pattern, overloads) or "write for instance 'aten::sum.dim_IntList'"


def _bare(pattern: str, overloads: frozenset[str]) -> tuple[str, str] | None:
    packet = canonical(pattern)
    names = matched(packet, overloads)
    if not names:
        return None
    message = f"{shown(packet)} is not an overload but the name of {len(names)}"
    return message, f"write {either(names)}, or '{packet}.*' for each of them"


def _unknown(pattern: str, overloads: frozenset[str]) -> tuple[str, str]:
    message = f"the installed torch has no overload {shown(pattern)}"
    return message, _offer(pattern, overloads) or "name one that the installed torch has"


def _offer(pattern: str, overloads: frozenset[str]) -> str:
    """Return a hint with the overload that *pattern* means in another notation, or the nearest one."""
    word = OTHER_PREFIX.sub("", pattern, count=1)
    close = next(_readings(word, overloads), None) or nearest(NAMESPACE + word, _candidates(word, overloads))
    if close is None:
        return ""
    names = matched(close, overloads) if close.endswith(".*") and not word.endswith(".*") else ()
    return f"did you mean {either((close, *names))}?"


def _readings(word: str, overloads: frozenset[str]) -> Iterator[str]:
    """Yield overloads that *word* spells in full: as it is, as a packet, as a function's name (``var_correction``)."""
    by_lower = {name.lower(): name for name in overloads}
    lower = f"{NAMESPACE}{canonical(word)}".lower()
    if found := by_lower.get(lower):
        yield found
    for place in (match.start() for match in re.finditer("_", lower)):
        if found := by_lower.get(f"{lower[:place]}.{lower[place + 1 :]}"):
            yield found
    if matched(f"{NAMESPACE}{word}", overloads):
        yield f"{NAMESPACE}{word}.*"


def _candidates(word: str, overloads: frozenset[str]) -> set[str]:
    """A comparison with all of the 3000 names takes 50 ms, too much for a file with a hundred wrong ones."""
    begin = NAMESPACE + word[:2]
    near = {name for name in overloads if name.startswith(begin)}
    return {f"{name.partition('.')[0]}.*" for name in near} if word.endswith(".*") else near
