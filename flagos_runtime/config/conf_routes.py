"""Operator routes that upstream conf files state, checked against what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flagos_runtime.config.conf import Assignment, read_conf
from flagos_runtime.config.conf_words import OLDER, WORDS
from flagos_runtime.config.excerpt import shown, suggestion
from flagos_runtime.config.known import Known
from flagos_runtime.config.patterns import NAMESPACE, canonical, pattern_problem
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.plan import OpRoute, PlatformRoutes, RouteSet

#: Stands for the platform of the process: a conf names none.
ANY_PLATFORM: Final = "*"
AMBIGUOUS: Final = "flaggems"
#: Codes of what costs a line but not the file: this machine has nothing that the line could mean.
LEFT_OUT: Final = frozenset({"FR112", "FR120"})
#: What serves an operator whose line names a kernel that is not installed; readers of a conf do the same.
KEPT: Final = "vendor"


@dataclass(frozen=True, slots=True)
class ConfTable:
    """What confs say: by overload, in the order of the text, the line and its backends; and what was found beside."""

    assignments: Mapping[str, Assignment]
    uses: Mapping[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...]


def read_table(paths: tuple[Path, ...], known: Known) -> ConfTable:
    """Return what the confs at *paths* say, one after the other; what nothing here serves is left out.

    Raises:
        ConfigError: a file, a line or a backend is wrong; it carries every finding, in the order of the text.
    """
    assignments: dict[str, Assignment] = {}
    findings: list[Diagnostic] = []
    checked = _Checked(known)
    for item in (item for path in paths for item in read_conf(path)):
        found = [item] if isinstance(item, Diagnostic) else [*checked.findings(item)]
        findings += found
        if isinstance(item, Assignment):
            name = canonical(NAMESPACE + item.operator)
            assignments[name] = item
            if any(finding.code in LEFT_OUT for finding in found):
                del assignments[name]
    if known.overloads is None and assignments:
        findings.append(_unchecked(str(paths[0])))
    if any(finding.severity == "error" for finding in findings):
        raise ConfigError(tuple(findings))
    uses = {name: _use(name, word, known) for name, item in assignments.items() if (word := _backend(item.word, known))}
    return ConfTable(assignments, uses, tuple(findings))


def load_conf(path: Path, known: Known) -> RouteSet:
    """Return the routes of a conf for `ANY_PLATFORM`.

    Raises:
        ConfigError: the conf is wrong; it carries every finding.
    """
    table = read_table((path,), known)
    places = {name: item.page.where(item.at) for name, item in table.assignments.items()}
    ops = tuple(OpRoute(name, use, places[name]) for name, use in table.uses.items())
    entry = MappingProxyType({ANY_PLATFORM: PlatformRoutes(ANY_PLATFORM, ops=ops)})
    return RouteSet(str(path), "auto", "accelerator", "full", entry, table.diagnostics)


def spread(conf: RouteSet, shipped: RouteSet, platforms: frozenset[str]) -> RouteSet:
    """Return *shipped* with the operator routes of *conf* on every platform: a conf is a table of the process."""
    ops = conf.of(ANY_PLATFORM).ops
    entries = {name: replace(shipped.of(name), ops=ops) for name in sorted(platforms)}
    found = (*shipped.diagnostics, *conf.diagnostics)
    return replace(shipped, source=conf.source, platforms=MappingProxyType(entries), diagnostics=found)


def _backend(word: str, known: Known) -> str | None:
    lower = word.lower()
    return WORDS.get(lower) or ("vendor" if lower in known.vendors else None)


def _use(name: str, backend: str, known: Known) -> tuple[str, ...]:
    return (backend,) if known.serves(backend, name) else (backend, KEPT)


class _Checked:
    """Checks assignments in turn; remembers what each file said so far."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.first: dict[tuple[str, str], Assignment] = {}
        self.words: dict[str, set[str]] = {}

    def findings(self, item: Assignment) -> Iterator[Diagnostic]:
        yield from self._operator(item)
        yield from self._word(item)
        yield from self._servable(item)
        yield from self._repeated(item)
        yield from self._ambiguous(item)

    def _operator(self, item: Assignment) -> Iterator[Diagnostic]:
        problem = pattern_problem(NAMESPACE + item.operator, self.known.overloads)
        if problem:
            message, hint = problem
            yield item.page.finding("FR112", item.at, f"{message}; it is left out", hint, severity="warning")

    def _word(self, item: Assignment) -> Iterator[Diagnostic]:
        if _backend(item.word, self.known) is None:
            hint = suggestion(item.word.lower(), {*WORDS, *self.known.vendors})
            yield item.page.finding("FR113", item.word_at, f"no backend of a conf is called {shown(item.word)}", hint)

    def _servable(self, item: Assignment) -> Iterator[Diagnostic]:
        """What `none` leaves to torch needs no route where the CPU cannot serve it: torch has its own way there."""
        name, backend = canonical(NAMESPACE + item.operator), _backend(item.word, self.known)
        if backend is not None and not self.known.serves(backend, name):
            reason = self.known.tables[backend].reason
            message = f"backend '{backend}' ({reason}) has no kernel of {shown(name)}; '{KEPT}' serves it"
            yield item.page.finding("FR119", item.word_at, message, severity="note")
        traits = self.known.traits(name) if backend == "cpu" else None
        if traits is not None and traits.bars_cpu:
            message = f"the CPU cannot serve {shown(name)}: {traits.bars_cpu}; it is left to torch"
            yield item.page.finding("FR120", item.word_at, message, severity="note")

    def _repeated(self, item: Assignment) -> Iterator[Diagnostic]:
        """A file may override what it includes; within one file a second line is worth a word."""
        earlier = self.first.setdefault((item.page.name, item.operator), item)
        if earlier.at != item.at:
            self.first[item.page.name, item.operator] = item
            message = f"line {item.at.line} wins over line {earlier.at.line}, which assigns {shown(item.operator)} too"
            yield item.page.finding("FR115", item.at, message, "keep one of the two", severity="note")

    def _ambiguous(self, item: Assignment) -> Iterator[Diagnostic]:
        words = self.words.setdefault(item.page.name, set())
        before = AMBIGUOUS in words and bool(words & OLDER)
        words.add(item.word.lower())
        if not before and AMBIGUOUS in words and words & OLDER:
            other = min(words & OLDER)
            message = f"'{AMBIGUOUS}' stands beside the older word '{other}' and is read as FlagGems in Python"
            hint = "write 'flaggems_cpp' where the C++ kernels are meant, as readers of that time took it"
            yield item.page.finding("FR113", item.word_at, message, hint, severity="note")


def _unchecked(name: str) -> Diagnostic:
    message = "names of operators were not checked, because torch is not installed"
    return Diagnostic("FR112", "note", name, message, "check the file where torch is")
