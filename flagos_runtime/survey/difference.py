"""What moved between two surveys of one cohort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal, TypedDict

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import SCHEMA_VERSION
from flagos_runtime.errors import ConfigError
from flagos_runtime.records import VERDICTS, CaseStatus, Verdict
from flagos_runtime.survey.result import OverloadEntry, SurveyDocument
from flagos_runtime.survey.verdicts import IDLE, verdict

UNSTABLE: Final = "UNSTABLE"


class VerdictMove(TypedDict):
    """An overload whose verdict is another one, over the cases that are stable in both surveys."""

    overload: str
    before: Verdict
    after: Verdict
    worse: bool


class CaseMove(TypedDict):
    """A case whose status is another one."""

    overload: str
    case: str
    before: CaseStatus
    after: CaseStatus
    worse: bool
    detail: Annotated[str, "what the second survey says of it"]


class Difference(TypedDict):
    """What `flagos-runtime survey diff --json` prints."""

    schema_version: Literal[1]
    verdicts: list[VerdictMove]
    cases: list[CaseMove]
    unstable: Annotated[list[CaseMove], "cases that are unstable in either survey; they make nothing worse"]


def difference(before: SurveyDocument, after: SurveyDocument) -> Difference:
    """Return what moved from *before* to *after*.

    Raises:
        ConfigError: they are not of one cohort; it names what differs.
    """
    faults = tuple(_unlike(before, after))
    if faults:
        raise ConfigError(faults)
    later = {item["name"]: item for item in after["overloads"]}
    pairs = [(item, later[item["name"]]) for item in before["overloads"] if item["name"] in later]
    moves = [move for pair in pairs for move in _case_moves(*pair)]
    return {
        "schema_version": SCHEMA_VERSION,
        "verdicts": [move for pair in pairs for move in _verdict_moves(*pair)],
        "cases": [move for move in moves if UNSTABLE not in (move["before"], move["after"])],
        "unstable": [move for move in moves if UNSTABLE in (move["before"], move["after"])],
    }


def is_worse(found: Difference) -> bool:
    """Tell whether something that held before does not hold now."""
    return any(item["worse"] for item in (*found["verdicts"], *found["cases"]))


def _unlike(before: SurveyDocument, after: SurveyDocument) -> Iterator[Diagnostic]:
    one, other = before["cohort"], after["cohort"]
    for name in one:
        if one[name] != other[name]:  # type: ignore[literal-required] # its own keys
            message = f"'{name}' is {one[name]!r} in the first and {other[name]!r} in the second"  # type: ignore[literal-required]
            hint = "compare surveys of one cohort: the same harness, routes, settings and overloads"
            yield Diagnostic("FR122", "error", "survey diff", message, hint)


def _statuses(item: OverloadEntry) -> Mapping[str, CaseStatus]:
    return {case["id"]: case["status"] for case in item["cases"]}


def _case_moves(before: OverloadEntry, after: OverloadEntry) -> Iterator[CaseMove]:
    known = _statuses(before)
    for case in after["cases"]:
        earlier = known.get(case["id"])
        if earlier is not None and earlier != case["status"]:
            worse = earlier == "PASS" and case["status"] not in IDLE
            yield {
                "overload": after["name"],
                "case": case["id"],
                "before": earlier,
                "after": case["status"],
                "worse": worse and case["status"] != UNSTABLE,
                "detail": case["detail"],
            }


def _verdict_moves(before: OverloadEntry, after: OverloadEntry) -> Iterator[VerdictMove]:
    one, other = _statuses(before), _statuses(after)
    stable = [name for name in one if name in other and UNSTABLE not in (one[name], other[name])]
    old: Verdict = verdict(one[name] for name in stable)
    new: Verdict = verdict(other[name] for name in stable)
    if new is not old:
        worse = VERDICTS.index(new) > VERDICTS.index(old)
        yield {"overload": after["name"], "before": old, "after": new, "worse": worse}
