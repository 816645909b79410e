"""The report: records to document, document to text, and the schema that describes it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ActivationError
from flagos_runtime.plan import AliasStatus, BackendChoice, Decision, OpDecision, Plan, PlatformRoutes, ProbeStatus
from flagos_runtime.records import Candidate, Capability, Detection, Platform, Status, StepSpec
from flagos_runtime.render import RENDERERS, apis_page, as_json, as_markdown, as_table, page_table, plan_page
from flagos_runtime.report import (
    Sources,
    capability_rows,
    check_report,
    gather,
    has_problem,
    host_entry,
    our_environment,
    plan_report,
    report_schema,
    unknown_requirements,
    unmet_requirements,
)

SCHEMA_FILE = Path(__file__).parents[1] / "schemas" / "report.schema.json"

HOST = {
    "timestamp": "2026-12-01T00:00:00+00:00",
    "python": "3.11.7",
    "torch": "2.13.0",
    "machine": "x86_64",
    "os": "Linux 6.1",
    "environment": {"FLAGOS_PLATFORM": "musa"},
}
CAPABILITIES = (
    Capability("bf16", "available", "declared", "FlagGems' vendor table"),
    Capability("compile", "unknown", "declared"),
    Capability("fp64", "unavailable", "measured", "the hardware has none"),
)
MUSA = Platform("musa", "Moore Threads", "private_use1", "musa", capabilities=CAPABILITIES)
CUDA_ABSENT = Candidate("cuda", "absent", chosen=False, reason="no /dev/nvidia*")
DETECTION = Detection(MUSA, "detection", (CUDA_ABSENT, Candidate("musa", "usable", chosen=True, reason="/dev/mtgpu0")))
OPERATORS = (
    OpDecision("aten::mm", (BackendChoice("cpu", True, "there"),), "FLAGOS_OP_mm", "FLAGOS_OP_mm names it", ("r:14",)),
    OpDecision("aten::sort", (BackendChoice("cpu", True, "there"),), "routes.yaml:16", "its route"),
    OpDecision(
        "aten::sort.stable", (BackendChoice("flaggems", False, "not installed"),), "routes.yaml:15", "its route"
    ),
)
ACTIVE = Status(
    "active",
    "every step of the plan was applied",
    "musa",
    "musa",
    "/etc/routes.yaml",
    detection=DETECTION,
    decisions=(
        Decision("probe:torch.cuda.is_available", "torch.cuda.is_available", "applied", "torch said False", order=0),
        Decision("patch:flaggems.philox", "flag_gems", "skipped", "flag_gems is not installed"),
    ),
    aliases=(
        AliasStatus("cuda", "musa", active=True, reason="torch has no CUDA", apis={"same": 100, "refused": 7}),
        AliasStatus("flagos", "musa", active=False, reason="disabled in the routes"),
    ),
    probes=(ProbeStatus("torch.cuda.is_available", "False", "True", "flagos", "redirected", ("compile", "flagos")),),
    diagnostics=(Diagnostic("FR303", "note", "probe pci", "the probe [pci] is overridden", "unset it"),),
    op_decisions=OPERATORS,
)
INACTIVE = Status("inactive", "no accelerator was found", detection=Detection(None, "nothing", (CUDA_ABSENT,)))

TABLE = """\
platform musa | device musa | active | "cuda" means musa
every step of the plan was applied
python 3.11.7, torch 2.13.0, Linux 6.1 x86_64
environment: FLAGOS_PLATFORM=musa

capabilities
1 available, 1 unknown, 1 unavailable
capability   state         evidence   detail
------------------------------------------------------------
bf16         available     declared   FlagGems' vendor table
compile      unknown       declared
fp64         unavailable   measured   the hardware has none

aliases
name       device   state      same/emulated/refused   reason
-----------------------------------------------------------------------------
"cuda"     musa     active     100/0/7                 torch has no CUDA
"flagos"   musa     inactive   0/0/0                   disabled in the routes

probes
probe                     torch's own answer   answers now   state        written by
-----------------------------------------------------------------------------------------
torch.cuda.is_available   False                True          redirected   compile, flagos

patches
1 applied, 1 skipped
not applied             state     reason
------------------------------------------------------------
patch:flaggems.philox   skipped   flag_gems is not installed

operators
2 cpu, 1 vendor
decided by a variable, or unserved   backend           reason
--------------------------------------------------------------------------------
aten::mm                             cpu               FLAGOS_OP_mm names it
aten::sort.stable                    none: as before   'flaggems': not installed

problems
problem      what and what to do             where
------------------------------------------------------
note FR303   the probe [pci] is overridden   probe pci
             hint: unset it
"""

MARKDOWN = r"""**platform musa \| device musa \| active \| "cuda" means musa**

every step of the plan was applied

python 3.11.7, torch 2.13.0, Linux 6.1 x86\_64

environment: FLAGOS\_PLATFORM=musa

### capabilities

1 available, 1 unknown, 1 unavailable

| capability | state | evidence | detail |
| --- | --- | --- | --- |
| bf16 | available | declared | FlagGems' vendor table |
| compile | unknown | declared |  |
| fp64 | unavailable | measured | the hardware has none |

### aliases

| name | device | state | same/emulated/refused | reason |
| --- | --- | --- | --- | --- |
| "cuda" | musa | active | 100/0/7 | torch has no CUDA |
| "flagos" | musa | inactive | 0/0/0 | disabled in the routes |

### probes

| probe | torch's own answer | answers now | state | written by |
| --- | --- | --- | --- | --- |
| torch.cuda.is\_available | False | True | redirected | compile, flagos |

### patches

1 applied, 1 skipped

| not applied | state | reason |
| --- | --- | --- |
| patch:flaggems.philox | skipped | flag\_gems is not installed |

### operators

2 cpu, 1 vendor

| decided by a variable, or unserved | backend | reason |
| --- | --- | --- |
| aten::mm | cpu | FLAGOS\_OP\_mm names it |
| aten::sort.stable | none: as before | 'flaggems': not installed |

### problems

| problem | what and what to do | where |
| --- | --- | --- |
| note FR303 | the probe [pci] is overridden<br>hint: unset it | probe pci |
"""


def report_of(status=ACTIVE, *, capabilities=CAPABILITIES, **more):
    """Return the document of *status* on a host that is the same everywhere."""
    return check_report(status, host=HOST, capabilities=capabilities, **more)


def test_report_has_the_keys_of_its_schema():
    """The document of an active process is valid against the schema."""
    jsonschema.validate(report_of(), report_schema())


def test_report_of_a_plain_host_is_valid():
    """The document of a host without a platform or torch is valid too."""
    report = check_report(INACTIVE, host={**HOST, "torch": None}, capabilities=capability_rows(None, platforms=[MUSA]))

    jsonschema.validate(report, report_schema())


def test_schema_refuses_a_key_that_it_does_not_know():
    """The schema is strict, so that a misspelt key is found."""
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate({**report_of(), "colour": "red"}, report_schema())


def test_schema_is_a_schema():
    """The schema itself is valid against the dialect that it names."""
    jsonschema.Draft202012Validator.check_schema(report_schema())


def test_schema_file_is_in_sync():
    """The schema on disk is the one that the code generates; if not, run make schema."""
    expected = json.dumps(report_schema(), indent=2, sort_keys=True) + "\n"

    assert expected == SCHEMA_FILE.read_text(encoding="utf-8"), "run make schema"


def test_ops_are_counted_and_exceptions_listed():
    """Operators are counted by backend; those of a variable and those without a backend are named with the reason."""
    ops = report_of()["ops"]

    assert ops["counts"] == {"cpu": 2, "vendor": 1}
    assert ops["overrides"] == [
        {"name": "aten::mm", "backend": "cpu", "reason": "FLAGOS_OP_mm names it", "where": "FLAGOS_OP_mm"}
    ]
    assert ops["unavailable"] == [
        {
            "name": "aten::sort.stable",
            "backend": None,
            "reason": "'flaggems': not installed",
            "where": "routes.yaml:15",
        }
    ]


def test_missing_api_counts_are_zero():
    """An alias that counts no emulated API reports zero of them."""
    assert report_of()["aliases"][0]["apis"] == {"same": 100, "emulated": 0, "refused": 7}


def test_every_capability_is_unknown_without_a_platform():
    """Where no platform was found, no capability is claimed."""
    rows = capability_rows(None, platforms=[MUSA])

    assert {(row.state, row.detail) for row in rows} == {("unknown", "no platform")}
    assert [row.name for row in rows] == ["bf16", "compile", "fp64"]


def test_routes_beat_the_plugin():
    """A capability that the routes state replaces what the plugin declares."""
    rows = capability_rows(MUSA, routes=[Capability("bf16", "unavailable", "measured", "wrong results")])

    assert rows[0] == Capability("bf16", "unavailable", "measured", "wrong results")


def test_environment_holds_our_variables_only():
    """Variables that do not concern this runtime, secrets among them, stay out of the report."""
    assert our_environment({"HOME": "/root", "API_TOKEN": "x", "FLAGOS_RUNTIME": "off"}) == {"FLAGOS_RUNTIME": "off"}


def test_host_entry_is_valid():
    """The facts of this very host fit the schema."""
    report = check_report(INACTIVE, host=host_entry({"FLAGOS_LOG": "patch"}))

    jsonschema.validate(report, report_schema())


# -- text -------------------------------------------------------------------------------------------------------


def test_table_text():
    """The table for people reads exactly like this at 100 columns."""
    assert as_table(report_of()) == TABLE


def test_markdown_text():
    """The Markdown for an issue reads exactly like this."""
    assert as_markdown(report_of()) == MARKDOWN


@pytest.mark.parametrize("status", [ACTIVE, INACTIVE], ids=["active", "inactive"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_table_keeps_to_its_width(status, width):
    """No line is longer than the width that was asked for."""
    capabilities = (*CAPABILITIES, Capability("x" * 70, "unknown", "declared", "long " * 40))

    text = as_table(report_of(status, capabilities=capabilities), width=width)

    assert max(map(len, text.splitlines()[4:])) <= width


def test_table_is_ascii_without_color():
    """The table needs neither UTF-8 nor a terminal."""
    text = as_table(report_of())

    assert text.isascii()
    assert "\x1b" not in text


def test_color_adds_nothing_but_color():
    """What is coloured is also written out in words."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", as_table(report_of(), color=True))

    assert [line.rstrip() for line in text.splitlines()] == as_table(report_of()).splitlines()


def test_json_is_the_document():
    """The JSON text holds the document and nothing else."""
    assert json.loads(RENDERERS["json"](report_of())) == report_of()


def test_unknown_is_not_shown_as_available():
    """Without a platform the text never says that something is available."""
    text = as_table(report_of(INACTIVE, capabilities=capability_rows(None, platforms=[MUSA])))

    assert "3 unknown; no platform to ask" in text
    assert "available" not in text
    assert "cuda       no /dev/nvidia*" in text


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (ACTIVE, '"cuda" means musa'),
        (replace(ACTIVE, platform="cuda", device_type="cuda", aliases=()), '"cuda" means itself'),
        (replace(ACTIVE, aliases=()), '"cuda" means itself (no alias)'),
        (INACTIVE, '"cuda" means itself (no alias)'),
    ],
    ids=["alias", "genuine", "opted out", "no platform"],
)
def test_headline_says_what_cuda_means(status, meaning):
    """The first line ends in what a program gets that asks for "cuda"."""
    assert as_table(report_of(status)).splitlines()[0].endswith(meaning)


def test_steps_with_one_reason_are_one_row():
    """Sixty steps of an alias that is switched off are counted, not listed."""
    steps = tuple(
        Decision(f"alias:cuda/f{i}", f"torch.cuda.f{i}", "disabled", "FLAGOS_ALIAS_CUDA=0") for i in range(60)
    )

    text = as_table(report_of(replace(ACTIVE, decisions=steps)))

    assert "60 disabled" in text
    assert "and 58 more" in text
    assert text.count("FLAGOS_ALIAS_CUDA=0") == 1


def test_brackets_are_no_markup():
    """Text in brackets reaches the reader as it is."""
    assert "the probe [pci] is overridden" in as_table(report_of())


def test_errors_stand_before_notes():
    """Problems are listed by severity, each with its hint."""
    error = Diagnostic("FR601", "error", "torch.cuda.device_count", "another writer", "look at import order")

    text = as_table(report_of(diagnostics=[error]))

    assert text.index("error FR601") < text.index("note FR303")
    assert "hint: look at import order" in text


def test_markdown_escapes_structure():
    """A pipe in a reason does not open a column."""
    status = replace(ACTIVE, aliases=(AliasStatus("cuda", "musa", active=True, reason="a|b"),))

    assert r"a\|b" in as_markdown(report_of(status))


def test_plan_lists_steps_in_order_and_what_is_left_out():
    """A plan shows its steps in order and the reason of each thing that is not in it."""
    steps = (
        StepSpec("device:flagos", "device", "torch.flagos", "device:install", reversible=False, summary="make it real"),
        StepSpec("alias:cuda/torch.device", "alias", "torch.device", "aliases:install", after=("device:flagos",)),
    )
    left_out = Decision("patch:philox", "flag_gems", "skipped", "flag_gems is not installed", "routes.yaml:30:5")
    applied = Decision("alias:cuda/torch.device", "torch.device", "planned", "torch has no CUDA", order=1)

    document = plan_report(Plan(MUSA, steps, (applied, left_out)), detection=DETECTION, routes="routes.yaml")
    text = page_table(plan_page(document))

    assert [(item["order"], item["id"]) for item in document["steps"]] == [
        (0, "device:flagos"),
        (1, "alias:cuda/torch.device"),
    ]
    assert "steps: 2 planned, 1 left out; nothing was changed" in text
    assert "make it real (no undo)" in text
    assert "flag_gems is not installed" in text
    assert json.loads(as_json({**document})) == document


def test_plan_groups_operators_and_json_has_them_all():
    """Operators that share backend and reason are one row with the first place; the document is complete."""
    routed = tuple(
        OpDecision(f"aten::op{line}", (BackendChoice("cpu", True, "there"),), f"routes.yaml:{line}:9", "its route")
        for line in range(5, 2060)
    )
    document = plan_report(Plan(MUSA, operators=(*OPERATORS, *routed)))
    rows = next(item.rows for item in plan_page(document).sections if item.title == "operators")

    assert rows == (
        ("aten::mm", "cpu", "FLAGOS_OP_mm names it", "FLAGOS_OP_mm"),
        ("aten::sort\naten::op5\nand 2054 more", "cpu", "its route", "routes.yaml:16 and further"),
        ("aten::sort.stable", "none: as before", "its route", "routes.yaml:15"),
    )
    assert len(document["operators"]) == 2058
    assert document["operators"][0]["backends"] == ["cpu"]
    assert document["operators"][0]["overruled"] == ["r:14"]
    assert json.loads(as_json({**document})) == document


def test_empty_plan_says_why():
    """A plan for a host without a platform names what was considered."""
    text = page_table(plan_page(plan_report(Plan(None), detection=INACTIVE.detection)))

    assert "platform none | device none | steps: 0 planned" in text
    assert "considered cuda: no /dev/nvidia*" in text


def test_apis_are_counted():
    """The table of APIs starts with how many are treated in which way."""
    page = apis_page([("torch.cuda.a", "same", ""), ("torch.cuda.b", "refused", "no graphs"), ("c", "same", "")])

    assert page.headline == "torch.cuda: 1 refused, 2 same"


# -- judgements -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (ACTIVE, False),
        (INACTIVE, False),
        (replace(ACTIVE, state="degraded"), True),
        (replace(ACTIVE, diagnostics=(Diagnostic("FR601", "error", "", "drift"),)), True),
        (replace(ACTIVE, diagnostics=(Diagnostic("FR601", "warning", "", "drift"),)), False),
        (replace(ACTIVE, decisions=(Decision("patch:x", "x", "failed", "boom"),)), True),
        (replace(ACTIVE, decisions=(Decision("op:routes", "x", "failed", "boom"),)), True),
    ],
    ids=["active", "inactive", "degraded", "error", "warning", "failed patch", "failed op"],
)
def test_problem(status, problem):
    """Failed steps and errors are problems; warnings and an idle runtime are not."""
    assert has_problem(report_of(status)) is problem


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ("fp64", "requirement 'fp64' is unavailable: the hardware has none"),
        ("compile", "requirement 'compile' is unknown"),
        ("graphs", "requirement 'graphs' is unknown: not declared for this platform"),
        ("alias:flagos", "requirement 'alias:flagos' is inactive: disabled in the routes"),
    ],
)
def test_unmet_requirement(wanted, line):
    """A requirement that is not available is named with its state and reason."""
    assert unmet_requirements(report_of(), [wanted]) == (line,)


def test_met_requirements():
    """What is available or active meets a requirement."""
    assert unmet_requirements(report_of(), ["bf16", "alias:cuda"]) == ()


def test_unknown_requirement_gets_a_suggestion():
    """A misspelt requirement is answered with the nearest name."""
    lines = unknown_requirements(report_of(), ["bf61", "graphs", "alias:cuad", "alias:cuda"], known=["graphs"])

    assert lines == (
        "unknown requirement 'bf61'; did you mean 'bf16'?",
        "unknown requirement 'alias:cuad'; did you mean 'alias:cuda'?",
    )


# -- gathering --------------------------------------------------------------------------------------------------


def broken():
    """Fail as a part of a broken host does."""
    raise RuntimeError("driver is stuck")


def sources(**parts):
    """Return sources that all work but for *parts*."""
    good = {
        "status": lambda: ACTIVE,
        "platforms": lambda: (MUSA,),
        "routes": lambda: PlatformRoutes("musa"),
        "host": lambda: HOST,
    }
    return Sources(**{**good, **parts})


def test_gathered_report_is_that_of_the_records():
    """With every part at hand the report is complete."""
    report, known = gather(sources())

    assert report == report_of()
    assert known == {"bf16", "compile", "fp64"}


@pytest.mark.parametrize(
    ("part", "name"), [("status", "status"), ("platforms", "plugins"), ("routes", "routes"), ("host", "host")]
)
def test_broken_part_becomes_a_diagnostic(part, name):
    """A part that cannot be gathered is a warning in a report that is otherwise whole and valid."""
    report, _ = gather(sources(**{part: broken}))

    jsonschema.validate(report, report_schema())
    assert report["diagnostics"][-1]["where"] == f"check:{name}"
    assert report["diagnostics"][-1]["message"].endswith("RuntimeError: driver is stuck")


def test_failed_activation_is_in_the_report():
    """An activation that failed is a problem of the report, with the step that failed."""
    report, _ = gather(sources(status=lambda: INACTIVE), failure=ActivationError("boom", step="device:flagos"))

    assert has_problem(report)
    assert report["diagnostics"] == [
        {"code": "FR501", "severity": "error", "where": "device:flagos", "message": "boom", "hint": ""}
    ]


def test_failure_that_the_status_names_is_not_repeated():
    """Where the status carries the error already, the report says it once."""
    status = replace(INACTIVE, diagnostics=(Diagnostic("FR502", "error", "musa", "no driver"),))

    report, _ = gather(sources(status=lambda: status), failure=ActivationError("no driver"))

    assert [item["code"] for item in report["diagnostics"]] == ["FR502"]
