"""YAML text as plain values, with the place of every key and value; refuses what a route file has no use for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from flagos_runtime.config.excerpt import Mark, Page, shown
from flagos_runtime.config.scalars import Trap, has_explicit_tag, value_of
from flagos_runtime.config.syntax import Composed, compose
from flagos_runtime.diagnostics import Diagnostic

Steps = tuple["str | int", ...]
LARGEST: Final = 1024 * 1024
#: PyYAML takes such an escape, and then no text with it can be printed.
SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML mapping: plain values (sequences as tuples), and where each of them stands.

    Attributes:
        page: the text.
        value: the values; a scalar that was refused is there as its text.
        keys: place of each key, by the steps that lead to its value.
        places: place of each value.
        flagged: steps to what was refused here, so that later stages do not report it again.
    """

    page: Page
    value: Mapping[str, object]
    keys: Mapping[Steps, Mark]
    places: Mapping[Steps, Mark]
    flagged: frozenset[Steps]

    def mark(self, steps: Steps) -> Mark:
        """Return the place of a value, or of the nearest thing around it that stands in the text."""
        while steps not in self.places:
            steps = steps[:-1]
        return self.places[steps]

    def where(self, steps: Steps) -> str:
        """Return ``file:line:column`` of a value."""
        return self.page.where(self.mark(steps))

    def is_flagged(self, steps: Steps) -> bool:
        """Tell whether a value, or something around it, was refused already."""
        return any(steps[:length] in self.flagged for length in range(1, len(steps) + 1))

    def at_value(self, code: str, steps: Steps, message: str, hint: str = "") -> Diagnostic:
        """Return an error that points at a value."""
        return self.page.finding(code, self.mark(steps), message, hint)

    def at_key(self, code: str, steps: Steps, message: str, hint: str = "") -> Diagnostic:
        """Return an error that points at a key."""
        return self.page.finding(code, self.keys.get(steps) or self.mark(steps), message, hint)


def read_document(
    path: Path, *, lenient: frozenset[Steps] = frozenset()
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Read a YAML file; without a document the findings say why there is none.

    Args:
        path: the file, shown in places as it is given.
        lenient: the last two steps of values whose plain dates and decimals are meant as they stand.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return None, (_unreadable(path, error),)
    return parse_document(data, str(path), lenient=lenient)


def parse_document(
    data: bytes, name: str, *, lenient: frozenset[Steps] = frozenset()
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Turn the bytes of a file called *name* into a document, as `read_document` does."""
    if len(data) > LARGEST:
        message = f"the file has more than {LARGEST} bytes; a route file has a few thousand"
        return None, (Diagnostic("FR107", "error", name, message, "name a route file"),)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, (_undecodable(data, name, error),)
    page = Page.of(name, text)
    composed = compose(page, text)
    return _document(page, composed, lenient) if composed.usable else (None, composed.findings)


def _unreadable(path: Path, error: OSError) -> Diagnostic:
    reason = (error.strerror or "no reason given").lower()
    message = f"the file cannot be read: {reason}; a route file was wanted"
    return Diagnostic("FR100", "error", str(path), message, "correct the path, or the permissions of the file")


def _undecodable(data: bytes, name: str, error: UnicodeDecodeError) -> Diagnostic:
    before = data[: error.start].decode("utf-8", "replace")
    lines = Page.of(name, before).lines
    page = Page.of(name, data.decode("utf-8", "replace"))
    message = f"byte 0x{data[error.start]:02x} is not UTF-8"
    return page.finding("FR101", Mark(len(lines), len(lines[-1]) + 1), message, "save the file as UTF-8")


def _document(
    page: Page, composed: Composed, lenient: frozenset[Steps]
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    reader = _Reader(page, lenient)
    value = reader.read(composed.root, ())
    if not isinstance(value, dict):
        message = f"the top level is {'a list' if isinstance(value, tuple) else 'a single value'}, wanted a mapping"
        hint = "begin with 'version: 1'"
        return None, (page.finding("FR104", reader.places[()], message, hint),)
    document = Document(page, value, reader.keys, reader.places, frozenset(reader.flagged))
    return document, (*composed.findings, *reader.findings)


@dataclass(slots=True)
class _Reader:
    """Walks the nodes of one document and collects values, places and findings."""

    page: Page
    lenient: frozenset[Steps]
    keys: dict[Steps, Mark] = field(default_factory=dict)
    places: dict[Steps, Mark] = field(default_factory=dict)
    flagged: set[Steps] = field(default_factory=set)
    findings: list[Diagnostic] = field(default_factory=list)

    def read(self, node: yaml.Node, steps: Steps) -> object:
        self.places[steps] = mark_of(node)
        if isinstance(node, yaml.MappingNode):
            self._refuse_tag(node, steps, "map")
            return dict(self._entries(node, steps))
        if isinstance(node, yaml.SequenceNode):
            self._refuse_tag(node, steps, "seq")
            return tuple(self.read(item, (*steps, index)) for index, item in enumerate(node.value))
        return self._scalar(node, steps)

    def _entries(self, node: yaml.MappingNode, steps: Steps) -> Iterator[tuple[str, object]]:
        first: dict[str, Mark] = {}
        for key, value in node.value:
            name = self._name(key, steps)
            if name is None:
                continue
            if name in first:
                self._refuse_repetition(key, name, first[name])
                continue
            inner = (*steps, name)
            first[name] = self.keys[inner] = mark_of(key)
            yield name, self.read(value, inner)

    def _name(self, key: yaml.Node, steps: Steps) -> str | None:
        """Return the text of a key, ``None`` for one that leads to nothing."""
        if not isinstance(key, yaml.ScalarNode) or not key.value:
            self._report("FR104", mark_of(key), "this key is no text", "write a word before the colon")
            return None
        if key.tag.endswith(":merge"):
            hint = "write the entries out; a platform takes another one's by 'extends'"
            self._report("FR103", mark_of(key), "the merge key '<<' is not accepted", hint)
            return None
        text = str(key.value)
        found = value_of(key, lenient=False) if not has_explicit_tag(key) else text
        if not isinstance(found, str):
            reading = found.reading if isinstance(found, Trap) else reading_of(found)
            message = f"the key {shown(text)} is {reading} to YAML 1.1, wanted text"
            self._report("FR106", mark_of(key), message, f"quote it: '{text}'")
            self.flagged.add((*steps, text))
        return text

    def _scalar(self, node: yaml.Node, steps: Steps) -> object:
        if not isinstance(node, yaml.ScalarNode) or has_explicit_tag(node):
            self._refuse_tag(node, steps)
            return str(node.value)
        found = value_of(node, lenient=steps[-2:] in self.lenient)
        if isinstance(found, str) and SURROGATE.search(found):
            self.flagged.add(steps)
            self._report("FR101", mark_of(node), "an escape in this text is half a character", "correct it")
        if not isinstance(found, Trap):
            return found
        self.flagged.add(steps)
        message = f"plain {shown(found.text)} is {found.reading} to YAML 1.1"
        self._report("FR106", mark_of(node), message, found.hint)
        return found.text

    def _report(self, code: str, mark: Mark, message: str, hint: str) -> None:
        self.findings.append(self.page.finding(code, mark, message, hint))

    def _refuse_repetition(self, key: yaml.Node, name: str, first: Mark) -> None:
        mark = mark_of(key)
        message = f"the key {shown(name)} stands on line {first.line} and again on line {mark.line}"
        hint = "keep one of them; YAML would keep the last without a word"
        self._report("FR102", mark, message, hint)

    def _refuse_tag(self, node: yaml.Node, steps: Steps, usual: str | None = None) -> None:
        if usual is not None and node.tag == f"tag:yaml.org,2002:{usual}":
            return
        self.flagged.add(steps)
        message = f"the tag {shown(node.tag.replace('tag:yaml.org,2002:', '!!'))} is not accepted"
        self._report("FR104", mark_of(node), message, "remove it")


def mark_of(node: yaml.Node) -> Mark:
    """Return where *node* begins."""
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def reading_of(value: object) -> str:
    """Return how a scalar that is no text is called in a message."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    return "nothing" if value is None else f"the number {value}"
