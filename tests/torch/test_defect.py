"""The defect that this runtime exists to make impossible, before and after (docs/architecture.md)."""

from __future__ import annotations

import json

import pytest

# what torch answers to each question, as one JSON object
TABLE = """
    import json, sys, warnings
    import torch

    def attempt(ask):
        try:
            return ask()
        except Exception as exc:
            return type(exc).__name__

    def reproducer():
        model = torch.nn.Linear(10, 10).to("flagos")
        compiled = torch.compile(model, fullgraph=True)
        return list(compiled(torch.randn(1, 10, device="flagos")).shape)

    def table(alias_active):
        flagos = torch.flagos
        same = lambda name: getattr(torch.cuda, name) is getattr(flagos, name)
        return {
            "alias active": alias_active("cuda"),
            "current_device": same("current_device"),
            "synchronize": same("synchronize"),
            "device_count": same("device_count"),
            "get_device_properties": same("get_device_properties"),
            "device is stock": torch.device is torch._C.device,
            "device(cuda)": repr(torch.device("cuda")),
            "current_device()": attempt(torch.cuda.current_device),
            "randn": attempt(lambda: str(torch.randn(2, 2, device="cuda").device)),
            "Tensor.cuda": attempt(lambda: str(torch.zeros(2).cuda().device)),
            "compile": attempt(reproducer),
            "is_available": torch.cuda.is_available(),
        }
"""

AFTER = {
    "alias active": True,
    "current_device": True,
    "synchronize": True,
    "device_count": True,
    "get_device_properties": True,
    "device is stock": False,
    "device(cuda)": "device(type='flagos')",
    "current_device()": 0,
    "randn": "flagos:0",
    "Tensor.cuda": "flagos:0",
    "compile": [1, 10],
    "is_available": True,
}

BEFORE = {
    "alias active": False,
    "current_device": False,
    "synchronize": False,
    "device_count": False,
    "get_device_properties": False,
    "device is stock": True,
    "device(cuda)": "device(type='cuda')",
    "current_device()": "AssertionError",
    "randn": "AssertionError",
    "Tensor.cuda": "AssertionError",
    "is_available": True,
}

SIM = {"FLAGOS_PLATFORM": "sim"}


def answers(run_python, expect_rc, code, **env):
    return json.loads(expect_rc(run_python(code, env={**SIM, **env})).splitlines()[-1])


@pytest.mark.parametrize("first", ["import flagos_runtime", "import torch"], ids=["runtime first", "torch first"])
def test_state_after_a_bare_import(run_python, expect_rc, first) -> None:
    """Whichever of the two is imported first, every row of the table is right."""
    code = f"{TABLE}\n    import flagos_runtime\n    print(json.dumps(table(flagos_runtime.alias_active)))"

    assert answers(run_python, expect_rc, f"\n    {first}{code}") == AFTER


def test_opt_out_restores_the_loud_failure(run_python, expect_rc) -> None:
    """With FLAGOS_ALIAS_CUDA=0 `cuda` is cuda again and torch's own error comes back."""
    code = f"{TABLE}\n    import flagos_runtime\n    print(json.dumps(table(flagos_runtime.alias_active)))"

    found = answers(run_python, expect_rc, code, FLAGOS_ALIAS_CUDA="0")

    assert {name: found[name] for name in BEFORE} == BEFORE


def test_genuine_cuda_keeps_its_name(run_python, expect_rc) -> None:
    """Where torch itself answers that CUDA is there, the alias stays off and says why."""
    code = """
        import json, os
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        import torch
        torch.cuda.is_available = lambda: True
        import flagos_runtime
        alias, = flagos_runtime.status().aliases
        print(json.dumps([alias.active, alias.reason, str(torch.device("cuda")), torch.device is torch._C.device]))
    """

    active, reason, device, stock = answers(run_python, expect_rc, code)

    assert (active, device, stock) == (False, "cuda", True)
    assert "torch's own torch.cuda.is_available answers True" in reason


# activates twice: first the redirected probe alone, then the alias with the answers that its guard is given
GUARD = """
    import os
    from dataclasses import replace
    os.environ["FLAGOS_RUNTIME"] = "off"
    import flagos_runtime
    from flagos_runtime import activation
    from flagos_runtime.preview import preview_of
    from flagos_runtime.integration import torch_probes
    os.environ["FLAGOS_RUNTIME"] = "on"

    preview = activation.preview()
    early = [step for step in preview.plan.steps if step.kind != "alias"]
    activation._install(replace(preview, plan=replace(preview.plan, steps=tuple(early))), early)
    conditions = ("torch.cuda.is_available",)
    answers = torch_probes.answers_of(conditions, ORACLE)
    resolved = preview_of(preview.facts, flagos_runtime.original, answers)
    late = [step for step in resolved.plan.steps if step.kind == "alias"]
    activation._install(resolved, late)
"""


@pytest.mark.parametrize(
    ("oracle", "wanted"),
    [("torch_probes.live", BEFORE), ("flagos_runtime.original", AFTER)],
    ids=["live probe", "original"],
)
def test_guard_must_ask_the_original(run_python, expect_rc, oracle, wanted) -> None:
    """A guard that asks the redirected probe leaves the process half-shimmed; one that asks the original does not."""
    code = f"{GUARD.replace('ORACLE', oracle)}{TABLE}\n    print(json.dumps(table(flagos_runtime.alias_active)))"

    found = answers(run_python, expect_rc, code)

    assert {name: found[name] for name in wanted} == wanted


def test_second_writer_changes_no_guard(run_python, expect_rc) -> None:
    """A probe that somebody redirects again without saving answers differently, and the guard's answer stays."""
    code = """
        import json
        import flagos_runtime, torch
        from flagos_runtime.integration import torch_probes

        def second_writer():
            return True

        torch.cuda.is_available = second_writer
        guard = torch_probes.answers_of(["torch.cuda.is_available"], flagos_runtime.original)
        probe, = flagos_runtime.status().probes
        drift, = [item.message for item in flagos_runtime.status().diagnostics if item.code == "FR601"]
        kept = torch.cuda._flagos_original_is_available()
        print(json.dumps([guard, probe.state, probe.writers, drift, kept]))
    """

    guard, state, writers, drift, kept = answers(run_python, expect_rc, code)

    assert guard == {"torch.cuda.is_available": False}
    assert state == "drifted"
    assert writers == ["probe:torch.cuda.is_available", "__main__.second_writer"]
    assert all(writer in drift for writer in writers)
    assert kept is False


def test_check_names_both_writers(run_python, expect_rc) -> None:
    """`check` in a process with a second writer shows the probe as drifted and names both."""
    code = """
        import flagos_runtime, torch
        from typer.testing import CliRunner
        from flagos_runtime.cli import app

        def second_writer():
            return True

        torch.cuda.is_available = second_writer
        print(CliRunner().invoke(app, ["check", "--json"]).stdout)
    """
    result = run_python(code, env=SIM)

    (probe,) = json.loads(expect_rc(result))["probes"]

    assert probe["state"] == "drifted"
    assert probe["writers"] == ["probe:torch.cuda.is_available", "__main__.second_writer"]


@pytest.mark.parametrize("bare", [[], ["--bare"]], ids=["explicit import", "autoload"])
@pytest.mark.parametrize("device", ["flagos", "cuda"])
def test_example_runs(run_python, expect_rc, bare, device) -> None:
    """The reproducer runs as a user would start it, with either name and either import."""
    code = f"""
        import runpy, sys
        sys.argv = ["reproducer.py", {device!r}, *{bare!r}]
        runpy.run_path("examples/reproducer.py", run_name="__main__")
    """

    assert expect_rc(run_python(code, env=SIM)).strip() == "OK (1, 10)"
