"""What cases come to, what moved between two surveys, and the journal of one that was interrupted."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from flagos_runtime.errors import ConfigError
from flagos_runtime.survey.difference import difference, is_worse
from flagos_runtime.survey.journal import Journal
from flagos_runtime.survey.result import document, survey_schema
from flagos_runtime.survey.routes import survey_routes
from flagos_runtime.survey.verdicts import verdict

SCHEMA_FILE = Path(__file__).parents[1] / "schemas" / "survey.schema.json"
COHORT = {
    "platform": "sim",
    "backend": "flaggems",
    "harness": "ab12",
    "routes": "cd34",
    "torch": "2.13.0",
    "settings": {"seed": 0, "most": 32, "largest": 4096, "repeats": 2},
    "overloads": {"count": 1, "hash": "ef56"},
}


def case(name, status, dtype="float32"):
    """Return a case of that status."""
    return {"id": name, "kind": "recorded", "dtype": dtype, "status": status, "detail": "", "seconds": 0.0}


def result(*cases, cohort=COHORT, overload="aten::mm"):
    """Return the result of a survey of one overload."""
    return document(cohort, {overload: list(cases)}, created="2026-12-01T00:00:00+00:00", device="host", versions={})


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), "UNTESTED"),
        (("INVALID_CASE", "UNVERIFIABLE"), "UNTESTED"),
        (("PASS", "INVALID_CASE"), "STRICT"),
        (("PASS", "WRONG"), "BASIC_ONLY"),
        (("PASS", "UNSTABLE"), "BASIC_ONLY"),
        (("ERROR", "CRASH", "TIMEOUT"), "FAILED"),
    ],
)
def test_verdict(statuses, expected):
    """A verdict is about the cases that the CPU takes and gives one answer to."""
    assert verdict(statuses) == expected


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ("PASS", "WRONG", True),
        ("PASS", "CRASH", True),
        ("WRONG", "PASS", False),
        ("WRONG", "ERROR", False),
        ("PASS", "UNSTABLE", False),
        ("UNSTABLE", "WRONG", False),
        ("PASS", "UNVERIFIABLE", False),
    ],
)
def test_move_of_a_case(before, after, worse):
    """A case that passed and fails now is worse; an unstable one never is."""
    found = difference(
        result(case("one", before), case("two", "PASS")), result(case("one", after), case("two", "PASS"))
    )

    assert is_worse(found) is worse
    assert len(found["cases"]) + len(found["unstable"]) == 1


def test_verdict_moves_without_unstable_cases():
    """A verdict that changes through an unstable case alone has not moved."""
    before, after = (result(case("one", "PASS"), case("two", status)) for status in ("PASS", "UNSTABLE"))

    assert difference(before, after)["verdicts"] == []


def test_verdict_that_moved():
    """A verdict that changes is listed with its direction."""
    before, after = (result(case("one", "PASS"), case("two", status)) for status in ("WRONG", "PASS"))

    assert difference(before, after)["verdicts"] == [
        {"overload": "aten::mm", "before": "BASIC_ONLY", "after": "STRICT", "worse": False}
    ]


@pytest.mark.parametrize("name", sorted(COHORT))
def test_surveys_of_two_cohorts_are_refused(name):
    """Whatever of the cohort differs is named."""
    with pytest.raises(ConfigError) as caught:
        difference(result(), result(cohort={**deepcopy(COHORT), name: "other"}))

    assert [item.code for item in caught.value.diagnostics] == ["FR122"]
    assert f"'{name}' is" in caught.value.diagnostics[0].message


def test_schema_file_is_current():
    """The published schema is the one of the types; `make schema` writes it."""
    expected = json.dumps(survey_schema(), indent=2, sort_keys=True) + "\n"

    assert SCHEMA_FILE.read_text(encoding="utf-8") == expected, "run make schema"


def test_journal_is_read_again(tmp_path):
    """A journal knows what is done and what is complete, without the line that was being written."""
    journal = Journal(tmp_path / "journal", COHORT, resume=False)
    journal.add("aten::mm", case("one", "PASS"))
    journal.end("aten::exp")
    with journal.path.open("a", encoding="utf-8") as stream:
        stream.write('{"overload": "aten::mm", "ca')
    again = Journal(journal.path, COHORT, resume=True)

    assert again.cases == {"aten::mm": [case("one", "PASS")], "aten::exp": []}
    assert again.complete == {"aten::exp"}


@pytest.mark.parametrize(
    ("cohort", "resume", "problem"),
    [
        (COHORT, False, "of a survey that was interrupted"),
        ({**COHORT, "torch": "2.12.0"}, True, "of another survey"),
    ],
    ids=["without --resume", "another cohort"],
)
def test_journal_that_is_not_gone_on_with(tmp_path, cohort, resume, problem):
    """What an interrupted survey has found is neither overwritten nor mixed with another's."""
    path = tmp_path / "journal"
    Journal(path, COHORT, resume=False).add("aten::mm", case("one", "PASS"))
    text = path.read_text()
    with pytest.raises(ConfigError, match=problem):
        Journal(path, cohort, resume=resume)

    assert path.read_text() == text


def test_routes_by_dtype():
    """An overload that is right in some dtypes is routed for those, with the guard that says so."""
    found = result(case("a", "PASS"), case("b", "WRONG", "float64"), case("c", "PASS", "int64"))

    assert "aten::mm: {use: [flaggems, vendor], guard: {dtypes: [float32, int64]}" in survey_routes(
        found, by_dtype=True
    )
    assert "aten::mm" not in survey_routes(found, by_dtype=False)


def test_no_route_where_dtypes_fail_together():
    """An overload that is right in each of two dtypes and wrong for both at once gets no route."""
    found = result(case("a", "PASS"), case("b", "PASS", "int64"), case("c", "WRONG", "float32+int64"))

    assert "aten::mm" not in survey_routes(found, by_dtype=True)
