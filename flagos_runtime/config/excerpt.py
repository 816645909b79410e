"""Places in a text, and how places, values and names are shown in a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flagos_runtime.diagnostics import Diagnostic, Severity

#: What YAML takes for the end of a line; ``str.splitlines`` knows more.
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
#: Longer lines are shown in part, longer values are cut.
WIDEST_LINE: Final = 100
LONGEST_VALUE: Final = 60


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a text; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Page:
    """A text with the name that it is shown under."""

    name: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, name: str, text: str) -> Page:
        """Return the page of a *text*."""
        return cls(name, tuple(LINE_BREAK.split(text)))

    def finding(
        self, code: str, mark: Mark, message: str, hint: str = "", *, severity: Severity = "error"
    ) -> Diagnostic:
        """Return a diagnostic that points at *mark*."""
        return Diagnostic(code, severity, self.where(mark), message, hint, self.excerpt(mark))

    def where(self, mark: Mark) -> str:
        """Return ``file:line:column``."""
        return f"{self.name}:{mark.line}:{mark.column}"

    def excerpt(self, mark: Mark) -> str:
        """Return the line at *mark* with its number, and a caret below the column."""
        if not 0 < mark.line <= len(self.lines):
            return ""
        line, at = self.lines[mark.line - 1], mark.column - 1
        first = max(0, at - WIDEST_LINE // 2) if len(line) > WIDEST_LINE else 0
        part = "".join(char if char.isprintable() else " " for char in line[first : first + WIDEST_LINE]).rstrip()
        return f"{mark.line:5} | {part}\n      | {' ' * (at - first)}^" if part else ""


def shown(value: str) -> str:
    """Return *value* in quotes, cut to a readable length and safe to print."""
    cut = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}..."
    return f"'{''.join(char if char.isprintable() else escaped(char) for char in cut)}'"


def escaped(char: str) -> str:
    """Return the escape that a Python literal has for *char*."""
    return char.encode("unicode_escape").decode("ascii")


def either(names: Iterable[str], *, most: int = 12) -> str:
    """Return the names in quotes, as in ``'a', 'b' or 'c'``; of very many, the first."""
    listed = sorted(names)
    quoted = [f"'{name}'" for name in listed[:most]]
    if len(listed) > most:
        return f"{', '.join(quoted)} or one of {len(listed) - most} more"
    return " or ".join(part for part in (", ".join(quoted[:-1]), quoted[-1] if quoted else "") if part)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that *word* is most likely a misspelling of."""
    # imported late: needed for a wrong name only
    from difflib import get_close_matches

    close = get_close_matches(word, list(names), n=1)
    return close[0] if close else None


def suggestion(word: str, names: Iterable[str], *, otherwise: str = "") -> str:
    """Return a hint: the name that was likely meant, or else *otherwise*, or else the list of names."""
    known = sorted(names)
    close = nearest(word, known)
    if close is not None:
        return f"did you mean '{close}'?"
    return otherwise or (f"known: {either(known)}" if known else "none is known here")
