"""The result of a survey as a document, and its JSON Schema."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypedDict, cast

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import SCHEMA_VERSION, json_schema, mismatches
from flagos_runtime.errors import ConfigError
from flagos_runtime.records import CASES, VERDICTS, CaseStatus, Verdict
from flagos_runtime.survey.verdicts import verdict


class CaseEntry(TypedDict):
    """One call of an overload, on the CPU and on the device."""

    id: Annotated[str, "the same in every survey of one cohort"]
    kind: Annotated[str, "where the call comes from"]
    dtype: str
    status: CaseStatus
    detail: Annotated[str, "empty for a case that passed"]
    seconds: Annotated[float, "seconds that the device took"]


class OverloadEntry(TypedDict):
    """What was measured of one overload."""

    name: str
    verdict: Verdict
    cases: list[CaseEntry]


class OverloadSet(TypedDict):
    """Which overloads were surveyed."""

    count: int
    hash: str


class SettingsEntry(TypedDict):
    """What decides which cases there are and how they are run."""

    seed: int
    most: Annotated[int, "cases of one overload at most"]
    largest: Annotated[int, "elements of the large profile"]
    repeats: Annotated[int, "runs of each case"]


class CohortEntry(TypedDict):
    """What two surveys must have in common to be compared."""

    platform: str
    backend: str
    harness: Annotated[str, "hash of the code that makes, runs and judges cases"]
    routes: Annotated[str, "hash of the route file"]
    torch: Annotated[str, "version of torch, whose operator database the cases come from"]
    settings: SettingsEntry
    overloads: OverloadSet


class VerdictCounts(TypedDict):
    """How many overloads have which verdict."""

    STRICT: int
    BASIC_ONLY: int
    FAILED: int
    UNTESTED: int


class CaseCounts(TypedDict):
    """How many cases have which status."""

    PASS: int
    INVALID_CASE: int
    UNVERIFIABLE: int
    ERROR: int
    WRONG: int
    CRASH: int
    TIMEOUT: int
    UNSTABLE: int


class CountsEntry(TypedDict):
    """What the overloads and their cases come to."""

    verdicts: VerdictCounts
    cases: CaseCounts


class SurveyDocument(TypedDict):
    """What `flagos-runtime survey run` writes."""

    schema_version: Literal[1]
    created: Annotated[str, "ISO 8601, UTC"]
    platform: str
    device: str
    backend: str
    versions: Annotated[dict[str, str], "versions of what took part"]
    cohort: CohortEntry
    counts: CountsEntry
    overloads: list[OverloadEntry]


def survey_schema() -> dict[str, object]:
    """Return the JSON Schema of a result."""
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Result of a flagos_runtime survey"}
    return {**title, **json_schema(SurveyDocument)}


def document(
    cohort: CohortEntry, cases: Mapping[str, list[CaseEntry]], *, created: str, device: str, versions: dict[str, str]
) -> SurveyDocument:
    """Return the result that *cases*, by overload, come to."""
    overloads: list[OverloadEntry] = [
        {"name": name, "verdict": verdict(item["status"] for item in found), "cases": found}
        for name, found in sorted(cases.items())
    ]
    statuses = Counter(item["status"] for found in cases.values() for item in found)
    verdicts = Counter(item["verdict"] for item in overloads)
    return {
        "schema_version": SCHEMA_VERSION,
        "created": created,
        "platform": cohort["platform"],
        "device": device,
        "backend": cohort["backend"],
        "versions": versions,
        "cohort": cohort,
        "counts": {
            "verdicts": cast("VerdictCounts", {word: verdicts[word] for word in VERDICTS}),
            "cases": cast("CaseCounts", {word: statuses[word] for word in CASES}),
        },
        "overloads": overloads,
    }


def write(path: Path, found: SurveyDocument) -> None:
    """Write a result; readers see the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as stream:
        json.dump(found, stream, indent=1)
    Path(stream.name).replace(path)


def read(path: Path) -> SurveyDocument:
    """Return the result at *path*.

    Raises:
        ConfigError: it cannot be read, or is no result of a survey; every fault is named.
    """
    try:
        found: SurveyDocument = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError((_fault(path, f"it cannot be read: {error.strerror}"),)) from error
    except ValueError as error:
        raise ConfigError((_fault(path, f"it is no JSON: {error}"),)) from error
    faults = tuple(_fault(path, text) for text in _faults(found))
    if faults:
        raise ConfigError(faults)
    return found


def _faults(found: object) -> Iterator[str]:
    for at, text in enumerate(mismatches(found, SurveyDocument)):
        if at == _SHOWN:
            yield "and more of the kind"
            return
        yield text


_SHOWN = 10


def _fault(path: Path, text: str) -> Diagnostic:
    return Diagnostic("FR122", "error", str(path), text, "name a file that 'flagos-runtime survey run' wrote")
