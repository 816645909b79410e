"""Verdicts on operators by platform: those that others published, and those that a survey measured here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import SCHEMA_VERSION
from flagos_runtime.errors import ConfigError
from flagos_runtime.published import CASES, PUBLISHED, VERDICTS, Published
from flagos_runtime.records import Evidence
from flagos_runtime.render import Page, Section

NOTE: Final = "declared: measured and published by others; measured: by the survey that is named. "
COMPARE: Final = "Only verdicts of one cohort can be compared, and a route alone is no verdict."
#: What is read of a survey's result, and as what.
READ: Final[Mapping[str, type]] = {
    "schema_version": int,
    "platform": str,
    "device": str,
    "backend": str,
    "created": str,
    "counts": dict,
    "cohort": dict,
}
COUNTED: Final[Mapping[str, tuple[str, ...]]] = {"verdicts": VERDICTS, "cases": CASES}


class CohortEntry(TypedDict):
    """The overloads that were tried."""

    name: str
    overloads: int
    details: Annotated[dict[str, str], "what else is recorded of the cohort"]


class EvidenceRow(TypedDict):
    """The verdicts of one survey on one device."""

    platform: str
    device: str
    evidence: Annotated[Evidence, "declared: published by others; measured: by a survey of ours"]
    published_by: Annotated[str, "empty for what was measured"]
    source: str
    cohort: CohortEntry
    tested: Annotated[int, "overloads with a verdict other than UNTESTED"]
    verdicts: dict[str, int]
    cases: dict[str, int]


class EvidenceReport(TypedDict):
    """What `flagos-runtime matrix --evidence --json` prints."""

    schema_version: Literal[1]
    surveys: list[EvidenceRow]


# -- records and results -> document --------------------------------------------------------------------------------


def evidence_report(survey: Path | None = None) -> EvidenceReport:
    """Return what is published, then the result of a *survey* of one's own.

    Raises:
        ConfigError: the result cannot be used (FR122).
    """
    own = [] if survey is None else [_measured(survey)]
    return {"schema_version": SCHEMA_VERSION, "surveys": [*map(_declared, PUBLISHED), *own]}


def _declared(item: Published) -> EvidenceRow:
    details = {"cases of each": str(item.cohort.profiles)}
    return {
        "platform": item.platform,
        "device": item.device,
        "evidence": "declared",
        "published_by": item.source.publisher,
        "source": item.source.place,
        "cohort": {"name": item.cohort.name, "overloads": item.cohort.overloads, "details": details},
        "tested": _tested(item.verdicts),
        "verdicts": dict(item.verdicts),
        "cases": dict(item.cases),
    }


def _measured(path: Path) -> EvidenceRow:
    result = _result(path)
    verdicts, cases = (_counts(result["counts"][name], words) for name, words in COUNTED.items())
    name = f"backend {result['backend']}, survey of {result['created']}"
    return {
        "platform": result["platform"],
        "device": result["device"],
        "evidence": "measured",
        "published_by": "",
        "source": str(path),
        "cohort": {"name": name, "overloads": sum(verdicts.values()), "details": _texts(result["cohort"])},
        "tested": _tested(verdicts),
        "verdicts": verdicts,
        "cases": cases,
    }


def _tested(verdicts: Mapping[str, int]) -> int:
    return sum(verdicts.values()) - verdicts["UNTESTED"]


def _texts(found: Mapping[str, object]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def _counts(found: Mapping[str, int], words: tuple[str, ...]) -> dict[str, int]:
    return {word: found.get(word, 0) for word in words}


# -- reading a result -----------------------------------------------------------------------------------------------


class SurveyResult(TypedDict):
    """What is read of the result of a survey."""

    platform: str
    device: str
    backend: str
    created: str
    counts: dict[str, dict[str, int]]
    cohort: dict[str, object]


def _result(path: Path) -> SurveyResult:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable(path, [f"it cannot be read: {(error.strerror or 'no reason given').lower()}"]) from error
    except ValueError as error:
        raise _unusable(path, [f"it is no JSON: {error}"]) from error
    problems = list(_problems(result))
    if problems:
        raise _unusable(path, problems)
    found: SurveyResult = result
    return found


def _problems(result: object) -> Iterator[str]:
    if not isinstance(result, dict):
        yield "it is no JSON object"
        return
    for name, kind in READ.items():
        if name not in result:
            yield f"'{name}' is missing"
        elif type(result[name]) is not kind:
            yield f"'{name}' is {result[name]!r:.40}, wanted {kind.__name__}"
    if result.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        yield f"its version is {result['schema_version']!r:.40}, wanted {SCHEMA_VERSION}"
    counts = result.get("counts")
    if isinstance(counts, dict):
        yield from (problem for name, words in COUNTED.items() for problem in _count_problems(counts, name, words))


def _count_problems(counts: Mapping[str, object], name: str, words: tuple[str, ...]) -> Iterator[str]:
    found = counts.get(name)
    if not isinstance(found, dict):
        yield f"'counts.{name}' is missing"
        return
    for word, count in found.items():
        if word not in words:
            yield f"'counts.{name}' has the unknown word '{word:.40}'"
        elif type(count) is not int or count < 0:
            yield f"'counts.{name}.{word}' is {count!r:.40}, wanted a number"


def _unusable(path: Path, problems: list[str]) -> ConfigError:
    hint = "name the file that 'survey' wrote"
    return ConfigError(tuple(Diagnostic("FR122", "error", str(path), problem, hint) for problem in problems))


# -- document -> page -----------------------------------------------------------------------------------------------


def evidence_page(report: EvidenceReport) -> Page:
    """Return *report* for people."""
    rows = report["surveys"]
    heads = ("platform", "device", "overloads", "tested", *VERDICTS, "evidence")
    sections = (
        Section("verdicts, overloads", heads, tuple(map(_verdict_cells, rows)), (NOTE + COMPARE,)),
        Section("cases", ("platform", "device", *CASES), tuple(map(_case_cells, rows))),
        Section("sources", ("devices", "cohort", "source"), _source_rows(rows)),
    )
    measured = sum(item["evidence"] == "measured" for item in rows)
    return Page(f"{len(rows)} surveys, {measured} of them measured here", (), sections)


def _verdict_cells(row: EvidenceRow) -> tuple[str, ...]:
    counts = (row["cohort"]["overloads"], row["tested"], *(row["verdicts"][word] for word in VERDICTS))
    return row["platform"], row["device"], *map(str, counts), row["evidence"]


def _case_cells(row: EvidenceRow) -> tuple[str, ...]:
    return row["platform"], row["device"], *(str(row["cases"][word]) for word in CASES)


def _source_rows(rows: list[EvidenceRow]) -> tuple[tuple[str, ...], ...]:
    """Return one row for all devices that were measured with one cohort."""
    devices: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        published = f"published by {row['published_by']}: " if row["published_by"] else ""
        devices.setdefault((row["cohort"]["name"], f"{published}{row['source']}"), []).append(row["device"])
    return tuple((", ".join(names), *key) for key, names in devices.items())
