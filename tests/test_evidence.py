"""Published verdicts, and the result of a survey beside them."""

from __future__ import annotations

import json

import pytest

from flagos_runtime.documents import mismatches
from flagos_runtime.errors import ConfigError
from flagos_runtime.evidence import EvidenceReport, evidence_page, evidence_report
from flagos_runtime.plugins import load_plugins
from flagos_runtime.published import PUBLISHED, PUBLISHED_CASES
from flagos_runtime.records import VERDICTS
from flagos_runtime.render import page_markdown, page_table
from flagos_runtime.survey.result import document

CASE = {"kind": "recorded", "dtype": "float32", "detail": "", "seconds": 0}
COHORT = {
    "platform": "sim",
    "backend": "flaggems",
    "harness": "ab12",
    "routes": "cd34",
    "torch": "2.13.0",
    "settings": {"seed": 0, "most": 32, "largest": 4096, "repeats": 2},
    "overloads": {"count": 2, "hash": "ef56"},
}
CASES_OF = {"aten::mm": ["PASS", "UNSTABLE"], "aten::exp": ["PASS"]}
FOUND = {
    name: [{**CASE, "id": f"recorded/{at}", "status": status} for at, status in enumerate(statuses)]
    for name, statuses in CASES_OF.items()
}
RESULT = document(COHORT, FOUND, created="2026-10-01T12:00:00Z", device="host memory", versions={"torch": "2.13.0"})
EACH = pytest.mark.parametrize("item", PUBLISHED, ids=lambda item: item.platform)


@pytest.fixture
def survey(tmp_path):
    """Write the result of a survey, changed as the test wants it."""

    def write(**changes):
        path = tmp_path / "result.json"
        path.write_text(json.dumps({**RESULT, **changes}), encoding="utf-8")
        return path

    return write


@EACH
def test_verdicts_add_up_to_the_cohort(item):
    """Each overload of a cohort has one verdict."""
    assert sum(item.verdicts.values()) == item.cohort.overloads


@EACH
def test_cases_add_up_to_the_cohort(item):
    """A survey made the same number of cases of each overload."""
    assert sum(item.cases.values()) == item.cohort.overloads * item.cohort.profiles


def test_figures_are_those_that_were_published():
    """The table holds the published counts."""
    found = {item.device: tuple(item.verdicts[word] for word in VERDICTS) for item in PUBLISHED}

    assert found == {
        "A100": (348, 54, 46, 98),
        "mC550": (260, 33, 155, 98),
        "PPU 810e": (347, 54, 47, 98),
        "bw1000": (321, 53, 74, 98),
        "MTT S5000": (303, 47, 38, 79),
    }


def test_tested_overloads_of_musa():
    """Of the 467 overloads of MUSA 388 were tested, and its cases are those that were published."""
    (row,) = (item for item in evidence_report()["surveys"] if item["platform"] == "musa")

    assert (row["cohort"]["overloads"], row["tested"]) == (467, 388)
    assert row["cases"] == dict(zip(PUBLISHED_CASES, (1881, 1086, 0, 151, 132, 14, 5), strict=True))


def test_published_figures_are_declared():
    """What others measured was not measured here, and says who published it where."""
    rows = evidence_report()["surveys"]

    assert {item["evidence"] for item in rows} == {"declared"}
    assert all(item["published_by"] and item["source"] for item in rows)


def test_every_platform_is_known():
    """Figures stand under the names that the platforms have here."""
    assert {item.platform for item in PUBLISHED} <= {item.name for item in load_plugins(()).platforms}


def test_survey_stands_beside_them(survey):
    """The result of a survey comes last, marked as measured, with the words that it did not need at zero."""
    report = evidence_report(survey())
    row = report["surveys"][-1]

    assert len(report["surveys"]) == len(PUBLISHED) + 1
    assert (row["evidence"], row["published_by"], row["tested"]) == ("measured", "", 2)
    assert row["verdicts"] == {"STRICT": 1, "BASIC_ONLY": 1, "FAILED": 0, "UNTESTED": 0}
    assert (row["cases"]["PASS"], row["cases"]["UNSTABLE"]) == (2, 1)
    assert (row["cohort"]["overloads"], row["cohort"]["details"]["routes"]) == (2, "cd34")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"device": None}, "'device' is of type null, wanted string"),
        ({"schema_version": 2}, "'schema_version' is 2, wanted 1"),
        ({"counts": {"verdicts": RESULT["counts"]["verdicts"]}}, "'counts.cases' is missing"),
        ({"counts": {**RESULT["counts"], "worse": {}}}, "'counts.worse' is unknown"),
    ],
    ids=["type", "version", "cases", "word"],
)
def test_result_that_cannot_be_used(survey, changes, problem):
    """A result that lacks something or says something else is refused with the reason."""
    with pytest.raises(ConfigError) as caught:
        evidence_report(survey(**changes))

    assert [(item.code, item.message) for item in caught.value.diagnostics] == [("FR122", problem)]


def test_everything_that_is_missing_is_named(tmp_path):
    """All that a result lacks is said at once."""
    path = tmp_path / "result.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        evidence_report(path)

    assert [item.message for item in caught.value.diagnostics] == [f"'{name}' is missing" for name in RESULT]


@pytest.mark.parametrize(
    ("text", "problem"), [("[", "it is no JSON: "), ("[]", "the document is of type array, wanted object")]
)
def test_file_that_is_no_result(tmp_path, text, problem):
    """Another file is refused."""
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        evidence_report(path)


def test_pages_hold_every_count(survey):
    """The table fits a terminal and marks what was measured; Markdown has the same cells."""
    page = evidence_page(evidence_report(survey()))
    text = page_table(page, width=100)

    assert max(map(len, text.splitlines())) <= 100
    assert "measured" in text
    assert "| musa | MTT S5000 | 467 | 388 | 303 | 47 | 38 | 79 | declared |" in page_markdown(page)


def test_command_prints_the_document(run_command, survey, expect_rc):
    """`matrix --evidence` prints what the record says, as JSON when asked."""
    document = json.loads(expect_rc(run_command("matrix", "--evidence", "--survey", survey(), "--json")))

    assert list(mismatches(document, EvidenceReport)) == []
    assert document["surveys"][-1]["platform"] == "sim"


def test_survey_goes_with_evidence(run_command, survey, expect_rc):
    """The option alone is wrong use, and so is a result that cannot be read."""
    expect_rc(run_command("matrix", "--survey", survey()), 2)
    result = run_command("matrix", "--evidence", "--survey", "missing.json")
    expect_rc(result, 2)

    assert "missing.json: error[FR122] it cannot be read: No such file or directory" in result.stderr


def test_evidence_loads_no_torch(run_python, expect_rc):
    """The figures are printed without torch and without yaml."""
    code = """
        import atexit, runpy, sys
        heavy = {"torch", "yaml"}
        atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))
        sys.argv = ["flagos-runtime", "matrix", "--evidence", "--json"]
        runpy.run_module("flagos_runtime", run_name="__main__")
    """
    result = run_python(code)
    expect_rc(result)

    assert result.stderr.splitlines()[-1] == "[]"
