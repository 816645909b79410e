"""Upstream `backends_*.conf` files as text: what each line assigns or includes, and where it stands."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flagos_runtime.config.excerpt import Mark, Page, shown
from flagos_runtime.diagnostics import Diagnostic

SUFFIX: Final = ".conf"
PREFIX: Final = "backends_"
LARGEST: Final = 1024 * 1024
#: A file that includes another twice doubles it; upstream has one include in a file.
MOST_FILES: Final = 64
ASSIGNMENT: Final = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)?)\s*=\s*(\w+)\s*(?:#\s*(.*?)\s*)?", re.ASCII)
INCLUDE: Final = re.compile(r"\s*include[ \t]+([^#\s][^#]*?)\s*(?:#.*)?")
BLANK: Final = re.compile(r"\s*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One `operator = word  # annotation` line, as it is written."""

    operator: str
    word: str
    annotation: str
    page: Page
    at: Mark
    word_at: Mark


def is_conf(path: Path) -> bool:
    """Tell whether *path* names an upstream conf and no route file."""
    return path.suffix == SUFFIX


def platform_in_name(path: Path, platforms: Iterable[str]) -> str | None:
    """Return the platform that `backends_<platform>[_...].conf` is called after."""
    rest = path.stem.removeprefix(PREFIX) if path.stem.startswith(PREFIX) else ""
    found = [name for name in platforms if rest == name or rest.startswith(f"{name}_")]
    return max(found, key=len, default=None)


def read_conf(path: Path) -> Iterator[Assignment | Diagnostic]:
    """Yield the assignments of *path* and of what it includes in order, and an error for each line that is neither."""
    yield from _Reader().read(path)


def conf_stamp(path: Path) -> tuple[tuple[str, str], ...]:
    """Return path and digest of *path* and of each file that it includes, which change when one of them does."""
    found: dict[Path, str] = {}
    waiting = [path.resolve()]
    while waiting and len(found) <= MOST_FILES:
        file = waiting.pop()
        data = _bytes_or_none(file)
        found[file] = hashlib.sha256(data).hexdigest()
        lines = Page.of("", data.decode("utf-8-sig", "replace")).lines
        names = [match[1] for line in lines if (match := INCLUDE.fullmatch(line))]
        waiting += [target for target in ((file.parent / name).resolve() for name in names) if target not in found]
    return tuple((str(file), digest) for file, digest in found.items())


class _Reader:
    """Follows includes; knows the files that it is inside of, and how many it has seen."""

    def __init__(self) -> None:
        self.inside: list[Path] = []
        self.count = 0

    def read(self, path: Path) -> Iterator[Assignment | Diagnostic]:
        page = _page(path)
        if isinstance(page, Page):
            yield from self._lines(path, page)
        else:
            code, reason = page
            message = f"the file {reason}; an upstream conf was wanted"
            yield Diagnostic(code, "error", str(path), message, "correct the path, or the file")

    def _lines(self, path: Path, page: Page) -> Iterator[Assignment | Diagnostic]:
        self.count += 1
        self.inside.append(path.resolve())
        for number, line in enumerate(page.lines, 1):
            if match := ASSIGNMENT.fullmatch(line):
                at, word_at = (Mark(number, match.start(group) + 1) for group in (1, 2))
                yield Assignment(match[1], match[2], match[3] or "", page, at, word_at)
            elif match := INCLUDE.fullmatch(line):
                yield from self._include(path.parent / match[1], page, Mark(number, match.start(1) + 1))
            elif not BLANK.fullmatch(line):
                yield _malformed(page, number, line)
        self.inside.pop()

    def _include(self, path: Path, page: Page, mark: Mark) -> Iterator[Assignment | Diagnostic]:
        target = Path(os.path.normpath(path))
        if target.resolve() in self.inside:
            circle = self.inside[self.inside.index(target.resolve()) :]
            around = " > ".join(f"'{file.name}'" for file in (*circle, circle[0]))
            yield page.finding("FR109", mark, f"the include leads back to itself: {around}", "remove one include")
        elif self.count >= MOST_FILES:
            yield page.finding("FR107", mark, f"more than {MOST_FILES} files are included", "write the lines out")
        elif isinstance(found := _page(target), Page):
            yield from self._lines(target, found)
        else:
            code, reason = found
            yield page.finding(code, mark, f"the included file '{target}' {reason}", "correct the name, or the file")


def _malformed(page: Page, number: int, line: str) -> Diagnostic:
    text = line.strip()
    message = f"{shown(text)} is no assignment, wanted 'operator = backend'"
    hint = "write the full name of one overload, as in 'sum.dim_IntList = flaggems', or 'include FILE'"
    return page.finding("FR104", Mark(number, line.index(text[0]) + 1), message, hint)


def _page(path: Path) -> Page | tuple[str, str]:
    """Return the text of a file, or the code of what is wrong with it and the reason."""
    try:
        data = _bytes(path)
    except OSError as error:
        return "FR100", f"cannot be read: {(error.strerror or 'no reason given').lower()}"
    if len(data) > LARGEST:
        return "FR107", f"has more than {LARGEST} bytes"
    try:
        return Page.of(str(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return "FR104", "is no UTF-8 text"


def _bytes(path: Path) -> bytes:
    # to read a pipe would wait for its writer
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no regular file")
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _bytes_or_none(path: Path) -> bytes:
    try:
        return _bytes(path)
    except OSError:
        return b""
