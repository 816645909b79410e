"""Verdicts on operators by platform: those that others published, and those that a survey measured here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict

from flagos_runtime.documents import SCHEMA_VERSION
from flagos_runtime.published import PUBLISHED, Published
from flagos_runtime.records import CASES, VERDICTS, Evidence
from flagos_runtime.render import Page, Section
from flagos_runtime.survey.result import read

NOTE: Final = "declared: measured and published by others; measured: by the survey that is named. "
COMPARE: Final = "Only verdicts of one cohort can be compared, and a route alone is no verdict."


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
    found = read(path)
    verdicts, cases = (_counts(found["counts"][name]) for name in ("verdicts", "cases"))
    return {
        "platform": found["platform"],
        "device": found["device"],
        "evidence": "measured",
        "published_by": "",
        "source": str(path),
        "cohort": {
            "name": f"backend {found['backend']}, survey of {found['created']}",
            "overloads": found["cohort"]["overloads"]["count"],
            "details": _texts(found["cohort"]),
        },
        "tested": _tested(verdicts),
        "verdicts": verdicts,
        "cases": cases,
    }


def _counts(found: Mapping[str, object]) -> dict[str, int]:
    return {word: count for word, count in found.items() if isinstance(count, int)}


def _tested(verdicts: Mapping[str, int]) -> int:
    return sum(verdicts.values()) - verdicts["UNTESTED"]


def _texts(found: Mapping[str, object]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


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
    return row["platform"], row["device"], *(str(row["cases"].get(word, "-")) for word in CASES)


def _source_rows(rows: list[EvidenceRow]) -> tuple[tuple[str, ...], ...]:
    """Return one row for all devices that were measured with one cohort."""
    devices: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        published = f"published by {row['published_by']}: " if row["published_by"] else ""
        devices.setdefault((row["cohort"]["name"], f"{published}{row['source']}"), []).append(row["device"])
    return tuple((", ".join(names), *key) for key, names in devices.items())
