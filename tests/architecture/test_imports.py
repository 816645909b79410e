"""What starting costs: the modules that an import or a command loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "pydantic", "yaml", "typer", "rich", "triton", "flag_gems")
LOADED = f"import sys; print(sorted(set({HEAVY!r}) & set(sys.modules)))"


def test_import_with_the_switch_off_loads_nothing_heavy(run_python, expect_rc):
    """With FLAGOS_RUNTIME=off the import costs milliseconds: no torch, no pydantic, no yaml, no command line."""
    result = run_python(f"import flagos_runtime; {LOADED}", env={"FLAGOS_RUNTIME": "off"})

    assert expect_rc(result).strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["schema"]], ids=" ".join)
def test_commands_that_need_no_torch_load_none(arguments, run_python, expect_rc):
    """Help and schemas come without the seconds that torch takes."""
    code = f"""
        import atexit, runpy, sys
        atexit.register(lambda: print("torch" in sys.modules, file=sys.stderr))
        sys.argv = ["flagos-runtime", *{arguments!r}]
        runpy.run_module("flagos_runtime", run_name="__main__")
    """
    result = run_python(code)
    expect_rc(result)

    assert result.stderr.splitlines()[-1] == "False"


def test_module_and_script_are_one_program(expect_rc):
    """`python -m flagos_runtime` answers --help."""
    result = subprocess.run(
        [sys.executable, "-m", "flagos_runtime", "--help"], capture_output=True, text=True, timeout=60, check=False
    )

    assert "check" in expect_rc(result)
