"""The results of surveys as pages for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from flagos_runtime.render import Page, Section

if TYPE_CHECKING:
    from flagos_runtime.survey.difference import CaseMove, Difference
    from flagos_runtime.survey.result import OverloadEntry, SurveyDocument

#: Verdicts whose overloads are listed: those about which there is something to do.
LISTED: Final = ("BASIC_ONLY", "FAILED")


def result_page(found: SurveyDocument) -> Page:
    """Return what a survey came to: counts, and why overloads are not STRICT."""
    counts, size = found["counts"], found["cohort"]["overloads"]["count"]
    lines = (
        f"verdicts: {_listed(counts['verdicts'])}",
        f"cases: {_listed(counts['cases'])}",
        f"versions: {', '.join(f'{name} {text}' for name, text in found['versions'].items())}",
    )
    rows = tuple(_row(item) for item in found["overloads"] if item["verdict"] in LISTED)
    section = Section("not served right", ("overload", "verdict", "passed", "first failure"), rows)
    headline = f"backend {found['backend']} | platform {found['platform']} | {size} overloads"
    return Page(headline, lines, (section,) if rows else ())


def difference_page(found: Difference) -> Page:
    """Return what moved between two surveys."""
    verdicts = tuple(
        (item["overload"], item["before"], item["after"], _sense(worse=item["worse"])) for item in found["verdicts"]
    )
    worse = sum(item["worse"] for item in (*found["verdicts"], *found["cases"]))
    sections = (
        Section("verdicts", ("overload", "before", "after", ""), verdicts, () if verdicts else ("none moved",)),
        _moves("cases", found["cases"]),
        _moves("unstable cases", found["unstable"]),
    )
    moved = len(found["verdicts"]) + len(found["cases"])
    return Page(f"{moved} moved, {worse} of them got worse; {len(found['unstable'])} unstable", (), sections)


def _moves(title: str, moves: Iterable[CaseMove]) -> Section:
    rows = tuple((item["overload"], item["case"], item["before"], item["after"], item["detail"]) for item in moves)
    columns = ("overload", "case", "before", "after", "detail")
    return Section(title, columns, rows, () if rows else ("none",))


def _row(item: OverloadEntry) -> tuple[str, ...]:
    passed = sum(case["status"] == "PASS" for case in item["cases"])
    weighed = [case for case in item["cases"] if case["status"] not in {"INVALID_CASE", "UNVERIFIABLE"}]
    first = next(case for case in weighed if case["status"] != "PASS")
    reason = f"{first['status']} {first['id']}: {first['detail']}"
    return item["name"], item["verdict"], f"{passed} of {len(weighed)}", reason[:200]


def _listed(counts: Mapping[str, object]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _sense(*, worse: bool) -> str:
    return "worse" if worse else "better"
