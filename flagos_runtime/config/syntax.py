"""YAML text to nodes: the errors of PyYAML as diagnostics, and limits that PyYAML does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import yaml
from yaml.reader import ReaderError

from flagos_runtime.config.excerpt import Mark, Page, escaped, shown
from flagos_runtime.diagnostics import Diagnostic

DEEPEST: Final = 20
#: Part of a message of PyYAML -> what most often is behind it.
HINTS: Final = {
    "mapping values are not allowed": "quote text that contains ': ', and look at the indentation",
    "could not find expected ':'": "write 'key: value', and look at the line above",
    "unexpected end of stream": "close the quote",
    "expected ',' or": "close the bracket or brace",
    "expected <block end>": "look at the indentation, here and in the line above",
    "cannot start any token": "quote it",
    "expected alphabetic or numeric": "quote it: '*' and '&' have a meaning in YAML",
    "undefined alias": "quote it: '*' has a meaning in YAML",
    "unknown escape": "use single quotes, in which a backslash is itself",
}


@dataclass(frozen=True, slots=True)
class Composed:
    """The root of one document and what was found on the way; ``usable`` is false where reading on has no sense."""

    root: yaml.Node
    findings: tuple[Diagnostic, ...] = ()
    usable: bool = True


def compose(page: Page, text: str) -> Composed:
    """Return the nodes of the one document in *text*."""
    indented_by_tab = _tabs(page)
    if indented_by_tab:
        return _useless(*indented_by_tab)
    try:
        loader = _Loader(text)
    except ReaderError as error:
        return _useless(_unprintable(page, text, error))
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        return _useless(*_anchors(page, loader), _syntax_error(page, error))
    except _TooDeepError as error:
        return _useless(*_anchors(page, loader), _too_deep(page, error.mark))
    except (ValueError, OverflowError):
        # "\UFFFFFFFF" and the like: PyYAML hands the number to chr() unchecked
        return _useless(page.finding("FR101", _place(loader.get_mark()), "this escape is no character", "correct it"))
    if root is None:
        message = "the file is empty; a route file begins with 'version: 1'"
        hint = "copy the file that is shipped: flagos-runtime init"
        return _useless(page.finding("FR101", Mark(1, 1), message, hint))
    anchors = _anchors(page, loader)
    return Composed(root, anchors, usable=not anchors)


class _TooDeepError(Exception):
    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        super().__init__()


class _Loader(yaml.SafeLoader):
    """Stops before PyYAML's recursion does harm, and notes anchors."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.anchored: list[tuple[str, Mark]] = []

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it untyped
        mark = _place(event.start_mark)
        if self.depth >= DEEPEST and isinstance(event, yaml.CollectionStartEvent):
            raise _TooDeepError(mark)
        anchor = getattr(event, "anchor", None)
        if anchor and not isinstance(event, yaml.AliasEvent):
            self.anchored.append((str(anchor), mark))
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _useless(*findings: Diagnostic) -> Composed:
    return Composed(yaml.ScalarNode("tag:yaml.org,2002:null", ""), findings, usable=False)


class _Position(Protocol):
    """PyYAML's marks count from 0, and there is a second class of them in its C part."""

    line: int
    column: int


def _place(position: _Position | None) -> Mark:
    return Mark(position.line + 1, position.column + 1) if position is not None else Mark(1, 1)


def _tabs(page: Page) -> list[Diagnostic]:
    """PyYAML would stop at the first of them, with a message about tokens."""
    found = []
    for number, line in enumerate(page.lines, start=1):
        rest = line.lstrip(" ")
        if rest.startswith("\t") and rest.strip():
            mark = Mark(number, len(line) - len(rest) + 1)
            found.append(page.finding("FR101", mark, "a tab indents this line, wanted spaces", "use spaces"))
    return found


def _anchors(page: Page, loader: _Loader) -> tuple[Diagnostic, ...]:
    return tuple(
        page.finding("FR107", mark, f"the anchor {shown(f'&{name}')} is not accepted", "write the value out")
        for name, mark in loader.anchored
    )


def _unprintable(page: Page, text: str, error: ReaderError) -> Diagnostic:
    before = Page.of(page.name, text[: error.position]).lines
    char = escaped(text[error.position])
    message = f"the character '{char}' is not allowed in YAML"
    return page.finding("FR101", Mark(len(before), len(before[-1]) + 1), message, "remove it")


def _too_deep(page: Page, mark: Mark) -> Diagnostic:
    message = f"values are nested more than {DEEPEST} deep; a route file needs 8"
    return page.finding("FR107", mark, message, "look for a bracket too many")


def _syntax_error(page: Page, error: yaml.MarkedYAMLError) -> Diagnostic:
    problem, context = error.problem or "not valid YAML", error.context or ""
    mark = _syntax_mark(page, error)
    if context == "expected a single document in the stream":
        problem, hint = "a second document begins here, wanted one", "remove the '---' and what belongs to it"
    elif "'\\t'" in problem:
        problem, hint = "a tab stands where YAML wants a space", "use spaces"
    else:
        hint = next((text for part, text in HINTS.items() if part in problem), "")
        problem = f"{problem} {context}" if context.startswith("while") else problem
    return page.finding("FR101", mark, problem, hint)


def _syntax_mark(page: Page, error: yaml.MarkedYAMLError) -> Mark:
    """What is never closed is noticed at the end of the file; it is better shown where it begins."""
    mark = _place(error.problem_mark or error.context_mark)
    at_end = not "".join(page.lines[mark.line - 1 :])[mark.column - 1 :].strip()
    return _place(error.context_mark) if at_end and error.context_mark is not None else mark
