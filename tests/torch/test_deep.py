"""`check --deep`: capabilities measured on the device, in processes that may hang or die."""

from __future__ import annotations

import json
import os
from textwrap import dedent

import jsonschema

from flagos_platforms.sim import flagos_platform
from flagos_runtime.integration.deep.exercise import Exercise
from flagos_runtime.integration.deep.runner import PROGRAM, Settings, measure
from flagos_runtime.integration.deep.table import EXERCISES
from flagos_runtime.measurement import measured_rows
from flagos_runtime.report import report_schema

SIM = flagos_platform()
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith(("FLAGOS_", "PYTHONWARNINGS"))}


def seen(**settings) -> dict[str, tuple[str, str]]:
    """Return state and detail of each capability on the sim device."""
    settings = {"environ": ENVIRON, **settings}
    return {item.name: (item.state, item.detail) for item in measure(SIM, Settings(**settings))}


def chosen(*names) -> tuple[Exercise, ...]:
    """Return the exercises of *names*."""
    return tuple(item for item in EXERCISES if item.capability in names)


def test_sim_is_measured(run_python, expect_rc):
    """Every capability of the sim device is measured as declared, stdout is JSON alone, and a requirement sees it."""
    code = """
        import sys
        from flagos_runtime.cli import main
        sys.argv[1:] = ["check", "--platform", "sim", "--deep", "--json", "--require", "fp64,amp.fp16"]
        main()
    """

    result = run_python(code, env={"FLAGOS_RUNTIME": "off"})

    report = json.loads(expect_rc(result, 1))
    jsonschema.validate(report, report_schema())
    measured = [item["name"] for item in report["capabilities"] if item["evidence"] == "measured"]
    assert len(measured) >= 12
    assert set(measured) == {item.capability for item in EXERCISES}
    assert report["diagnostics"] == []
    assert result.stderr.splitlines() == [
        "requirement 'amp.fp16' is unavailable: autocast to torch.float16 computes a matrix product in torch.float32"
    ]


def test_wrong_kernel_is_seen():
    """A kernel that computes something else makes the capabilities that use it unavailable, against the declaration."""
    plant = """
    import torch
    library = torch.library.Library("aten", "IMPL")
    library.impl("mul.Tensor", torch.add, "PrivateUse1")
    serve("""
    program = PROGRAM.replace("serve(", dedent(plant).lstrip())
    settings = Settings(exercises=chosen("eager", "fp64", "int64", "complex"), program=program, environ=ENVIRON)

    measured = tuple(measure(SIM, settings))
    rows, findings = measured_rows(SIM.capabilities, measured)

    assert {item.name: item.state for item in measured} == {
        "eager": "available",
        "fp64": "unavailable",
        "int64": "unavailable",
        "complex": "unavailable",
    }
    assert [(item.code, item.severity, item.where) for item in findings] == [
        ("FR305", "error", f"capability:{name}") for name in ("fp64", "int64", "complex")
    ]
    details = {item.name: item.detail for item in rows}
    assert details["fp64"].startswith("declared available, measured unavailable: (a * a - 1) * 2**40 differs from")


def test_what_hangs_or_dies_does_not_stop_the_others(tmp_path):
    """An exercise that raises, hangs, aborts or exits is reported for what it did, and those after it are run."""
    (tmp_path / "planted.py").write_text(
        dedent("""
            import os, sys, time
            def raises(subject): raise ValueError("first line\\nsecond line")
            def hangs(subject): time.sleep(600)
            def aborts(subject): os.abort()
            def exits(subject): sys.exit("no such card")
            def chatters(subject):
                print("not an answer", flush=True)
                return f"ran on {subject.device_type}"
        """)
    )
    names = ("raises", "hangs", "aborts", "exits", "missing", "chatters")
    exercises = tuple(Exercise(name, f"planted:{name}") for name in names)

    found = seen(exercises=exercises, timeout_s=3, environ={**ENVIRON, "PYTHONPATH": str(tmp_path)})

    assert found == {
        "raises": ("unavailable", "ValueError: first line"),
        "hangs": ("unknown", "gave no answer within 3 s"),
        "aborts": ("unavailable", "died of SIGABRT"),
        "exits": ("unavailable", "ended with exit status 1: no such card"),
        "missing": ("unavailable", "AttributeError: module 'planted' has no attribute 'missing'"),
        "chatters": ("available", "ran on flagos"),
    }


def test_device_that_does_not_start():
    """Where the process that measures cannot start, every capability is unknown for that reason, which is met once."""
    begun = []

    found = seen(program="raise SystemExit('the driver is gone')", announce=begun.append)

    reason = "could not be measured: the measuring process ended with exit status 1: the driver is gone"
    assert found == {item.capability: ("unknown", reason) for item in EXERCISES}
    assert begun == []


def test_interpreter_is_no_driver_for_a_card(run_python, expect_rc):
    """Triton's interpreter serves the device in host memory, and does not count for one with code of its own."""
    code = """
        import flagos_runtime
        from flagos_runtime.integration.deep.exercise import NotServedError, Subject
        from flagos_runtime.integration.deep.packages import triton
        try:
            triton(Subject("flagos"))
        except NotServedError as error:
            print(error)
    """

    text = expect_rc(run_python(code, env={"FLAGOS_PLATFORM": "sim", "TRITON_INTERPRET": "0"}))

    assert "has no driver for 'flagos'" in text
