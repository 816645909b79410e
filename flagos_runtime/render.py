"""Documents turned into text: a table for people, JSON for programs, Markdown for issues."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flagos_runtime.documents import (
    AliasEntry,
    DiagnosticEntry,
    LeftOutEntry,
    OperatorEntry,
    PlanReport,
    Report,
    StepEntry,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: A state is always written out; the colour only helps to find it.
STYLES: Final[Mapping[str, str]] = {
    "available": "green",
    "active": "green",
    "applied": "green",
    "unavailable": "red",
    "failed": "bold red",
    "degraded": "bold red",
    "unknown": "yellow",
    "drifted": "bold red",
    "refused": "red",
}

#: Stands for the backend where none can serve the overload.
KEPT: Final = "none: as before"
#: More names than this with one reason are counted instead of listed; JSON has them all.
LISTED: Final = 4


@dataclass(frozen=True, slots=True)
class Section:
    """One titled table; ``notes`` stand below the title, and without rows there is no table."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """What people read: the headline first, then sections."""

    headline: str
    lines: tuple[str, ...]
    sections: tuple[Section, ...]


# -- pages ------------------------------------------------------------------------------------------------------


def report_page(report: Report) -> Page:
    """Return *report* in the order in which people ask: what is this, what works, what is wrong."""
    host = report["host"]
    torch = host["torch"] or "not installed"
    lines = (
        report["activation"]["reason"],
        f"python {host['python']}, torch {torch}, {host['os']} {host['machine']}",
        *(f"environment: {name}={value}" for name, value in host["environment"].items()),
    )
    makers = (_capabilities, _candidates, _aliases, _probes, _patches, _ops)
    sections = tuple(section for make in makers for section in make(report))
    return Page(_headline(report), lines, (*sections, problems(report["diagnostics"])))


def plan_page(plan: PlanReport) -> Page:
    """Return every step of *plan* in order, then what is left out and why."""
    name, device = plan["platform"]["name"] or "none", plan["platform"]["device_type"] or "none"
    count = f"steps: {len(plan['steps'])} planned, {len(plan['left_out'])} left out"
    sections = (
        Section("steps, in order", ("#", "step", "writes", "why"), tuple(map(_step_row, plan["steps"]))),
        Section("left out", ("step", "state", "why", "decided at"), tuple(map(_left_out_row, plan["left_out"]))),
        Section("operators", ("overload", "backend", "why", "decided at"), _operator_rows(plan["operators"])),
    )
    return Page(
        f"platform {name} | device {device} | {count}; nothing was changed",
        (f"routes: {plan['routes'] or 'none'}", *_considered(plan["platform"]["why"])),
        (*(item for item in sections if item.rows), problems(plan["diagnostics"])),
    )


def apis_page(rows: Iterable[tuple[str, str, str]]) -> Page:
    """Return the table of ``torch.cuda`` APIs: name, treatment, detail."""
    table = tuple(rows)
    counts = Counter(treatment for _, treatment, _ in table)
    headline = "torch.cuda: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return Page(headline, (), (Section("APIs", ("name", "treatment", "detail"), table),))


def problems(diagnostics: Iterable[DiagnosticEntry]) -> Section:
    """Return the section that closes each page."""
    rows = tuple(
        (f"{item['severity']} {item['code']}", _with_hint(item), item["where"])
        for item in sorted(diagnostics, key=lambda item: ("error", "warning", "note").index(item["severity"]))
    )
    return Section("problems", ("problem", "what and what to do", "where"), rows, () if rows else ("none",))


def _headline(report: Report) -> str:
    name, device = report["platform"]["name"] or "none", report["platform"]["device_type"] or "none"
    return f'platform {name} | device {device} | {report["activation"]["state"]} | "cuda" means {_meaning(report)}'


def _meaning(report: Report) -> str:
    """Say what a program gets that asks for "cuda": in this process, or on a replayed host once it is active there."""
    for item in report["aliases"]:
        if item["name"] == "cuda" and item["state"] == "active":
            return item["to"]
        if item["name"] == "cuda" and item["reason"].startswith("planned:"):
            return f"{item['to']} once active"
    return "itself" if report["platform"]["device_type"] == "cuda" else "itself (no alias)"


def _capabilities(report: Report) -> Iterable[Section]:
    rows = tuple(
        (item["name"], item["state"], item["evidence"], item["detail"])
        for item in report["capabilities"]
        if report["platform"]["name"] or item["detail"].startswith("not measured")
    )
    counts = _counts(item["state"] for item in report["capabilities"])
    note = counts if rows else f"{counts or 'none known'}; no platform to ask"
    yield Section("capabilities", ("capability", "state", "evidence", "detail"), rows, (note,))


def _candidates(report: Report) -> Iterable[Section]:
    why = report["platform"]["why"]
    if why and report["platform"]["name"] is None:
        yield Section("platforms considered", ("platform", "why not"), tuple(map(_split_reason, why)))


def _aliases(report: Report) -> Iterable[Section]:
    rows = tuple(
        (f'"{item["name"]}"', item["to"], item["state"], _api_counts(item), item["reason"])
        for item in report["aliases"]
    )
    if rows:
        yield Section("aliases", ("name", "device", "state", "same/emulated/refused", "reason"), rows)


def _api_counts(item: AliasEntry) -> str:
    apis = item["apis"]
    return f"{apis['same']}/{apis['emulated']}/{apis['refused']}"


def _probes(report: Report) -> Iterable[Section]:
    rows = tuple(
        (
            item["name"],
            item["original"],
            item["live"],
            item["state"],
            ", ".join(item["writers"]) or item["redirected_by"],
        )
        for item in report["probes"]
    )
    if rows:
        yield Section("probes", ("probe", "torch's own answer", "answers now", "state", "written by"), rows)


def _patches(report: Report) -> Iterable[Section]:
    entries = report["patches"]
    rows = _grouped((item["id"], item["state"], item["reason"]) for item in entries if item["state"] != "applied")
    if entries:
        yield Section(
            "patches", ("not applied", "state", "reason"), rows, (_counts(item["state"] for item in entries),)
        )


def _ops(report: Report) -> Iterable[Section]:
    ops = report["ops"]
    if not ops["counts"]:
        return
    shown = (*ops["overrides"], *(item for item in ops["unavailable"] if item not in ops["overrides"]))
    rows = _grouped((item["name"], item["backend"] or KEPT, item["reason"]) for item in shown)
    note = ", ".join(f"{count} {backend}" for backend, count in ops["counts"].items())
    yield Section("operators", ("decided by a variable, or unserved", "backend", "reason"), rows, (note,))


def _operator_rows(operators: Iterable[OperatorEntry]) -> tuple[tuple[str, ...], ...]:
    """Return one row for all overloads that one backend serves for one reason, with the first place that says so."""
    groups: dict[tuple[str, str], list[OperatorEntry]] = {}
    for item in operators:
        backend = item["backends"][0] if item["backends"] else KEPT
        groups.setdefault((backend, item["reason"]), []).append(item)
    return tuple(
        (_abridged([item["overload"] for item in group]), backend, reason, _places([item["where"] for item in group]))
        for (backend, reason), group in groups.items()
    )


def _places(places: list[str]) -> str:
    return places[0] if set(places) == {places[0]} else f"{places[0]} and further"


def _grouped(rows: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return one row for all names that share their state and reason: a switched-off alias is one fact, not sixty."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, state, reason in rows:
        names.setdefault((state, reason), []).append(name)
    return tuple((_abridged(group), state, reason) for (state, reason), group in names.items())


def _abridged(names: list[str]) -> str:
    return "\n".join(names) if len(names) <= LISTED else "\n".join([*names[:2], f"and {len(names) - 2} more"])


def _counts(states: Iterable[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(states).items())


def _step_row(step: StepEntry) -> tuple[str, ...]:
    why = step["reason"] or step["summary"]
    return str(step["order"]), step["id"], step["target"], why if step["reversible"] else f"{why} (no undo)"


def _left_out_row(item: LeftOutEntry) -> tuple[str, ...]:
    return item["id"], item["state"], item["reason"], item["where"]


def _considered(why: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"considered {line}" for line in why)


def _split_reason(line: str) -> tuple[str, str]:
    name, _, reason = line.partition(": ")
    return name, reason


def _with_hint(item: DiagnosticEntry) -> str:
    return f"{item['message']}\nhint: {item['hint']}" if item["hint"] else item["message"]


# -- text -------------------------------------------------------------------------------------------------------


def page_table(page: Page, *, width: int = 100, color: bool = False) -> str:
    """Return *page* laid out in columns, no line longer than *width*."""
    from rich.console import Console  # only this printer pays for importing rich

    console = Console(
        file=io.StringIO(), width=width, color_system="standard" if color else None, force_terminal=color, _environ={}
    )
    with console.capture() as capture:
        console.print(_text(page.headline, style="bold"))
        console.print(*map(_text, page.lines), sep="\n")
        for section in page.sections:
            console.print(_text(f"\n{section.title}", style="bold"), *map(_text, section.notes), sep="\n")
            console.print(*([_rich_table(section)] if section.rows else []), end="")
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _rich_table(section: Section) -> Table:
    from rich.box import Box
    from rich.table import Table

    # ASCII, because the text may end in a log file or on a console without box-drawing characters
    rule_below_header = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
    table = Table(box=rule_below_header, show_edge=False, pad_edge=False)
    for column in section.columns:
        table.add_column(_text(column), overflow="fold")
    for row in section.rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: str, *, style: str = "") -> Text:
    """Return *cell* taken literally: ``[FR103]`` is no markup."""
    from rich.text import Text

    return Text(cell, style=style or STYLES.get(cell, ""))


def page_markdown(page: Page) -> str:
    """Return *page* as Markdown that can be pasted into an issue."""
    blocks = [f"**{_cell(page.headline)}**", *map(_cell, page.lines)]
    for section in page.sections:
        blocks += [f"### {section.title}", *map(_cell, section.notes)]
        blocks += [_markdown_table(section)] if section.rows else []
    return "\n\n".join(blocks) + "\n"


def _markdown_table(section: Section) -> str:
    rows = (section.columns, ("---",) * len(section.columns), *section.rows)
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows)


def _cell(text: str) -> str:
    """Return *text* with what Markdown would read as structure escaped."""
    return re.sub(r"([\\`*_|<>])", r"\\\1", text).replace("\n", "<br>")


def as_table(report: Report, *, width: int = 100, color: bool = False) -> str:
    """Return *report* for people at a terminal."""
    return page_table(report_page(report), width=width, color=color)


def as_json(document: Mapping[str, object]) -> str:
    """Return any document as JSON, keys in the order of the schema."""
    return json.dumps(document, indent=2) + "\n"


def as_markdown(report: Report) -> str:
    """Return *report* for an issue."""
    return page_markdown(report_page(report))


def _report_json(report: Report) -> str:
    return as_json({**report})


RENDERERS: Final[Mapping[str, Callable[[Report], str]]] = {
    "table": as_table,
    "json": _report_json,
    "markdown": as_markdown,
}
