"""A torch that cannot be imported: the check still runs and names whose entry point it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flagos_runtime.autoloading import ask_torch, chain, import_failure

MISSING = "libvendor.so: cannot open shared object file: No such file or directory"


def distribution(folder: Path, body: str, *, name="acme-torch", entry="acme") -> Path:
    """Install a distribution below *folder* whose entry point of torch runs *body*."""
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{entry} = torch_{entry}:autoload\n")
    (folder / f"torch_{entry}.py").write_text(f"def autoload():\n    {body}\n")
    return folder


@pytest.fixture
def broken(tmp_path):
    """The environment of a machine on which a vendor's plugin lacks its library."""
    return {"PYTHONPATH": str(distribution(tmp_path / "site", f"raise OSError({MISSING!r})"))}


@pytest.mark.parametrize("platform", ["", "sim"], ids=["plain host", "with a platform"])
def test_check_names_the_distribution(platform, broken, run_command):
    """The report is printed, the culprit named with its own words, exit code 1, no traceback."""
    result = run_command("check", env={**broken, "FLAGOS_PLATFORM": platform})

    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    assert result.stdout.startswith("platform none | device none | inactive")
    words = " ".join(result.stdout.split())
    assert "entry point 'acme' of acme-torch 1.2" in words
    assert MISSING in words
    assert "set TORCH_DEVICE_BACKEND_AUTOLOAD=0 to leave it out" in words


@pytest.mark.parametrize("platform", ["", "sim"], ids=["plain host", "with a platform"])
def test_check_reports_it_once(platform, broken, run_command):
    """One cause is one diagnostic, and the candidates are still there."""
    document = json.loads(run_command("check", "--json", env={**broken, "FLAGOS_PLATFORM": platform}).stdout)

    assert [(item["code"], item["message"]) for item in document["diagnostics"]] == [
        ("FR304", f"torch cannot be imported: OSError: {MISSING}")
    ]
    assert document["platform"]["why"] != []


def test_plan_says_it_in_one_line(broken, run_command):
    """A command that needs torch ends with the cause and no traceback."""
    result = run_command("plan", env={**broken, "FLAGOS_PLATFORM": "sim"})

    assert result.returncode == 1
    assert result.stderr == (
        f"error: entry point 'acme' of acme-torch 1.2: torch cannot be imported: OSError: {MISSING}\n"
    )


def test_a_program_is_told_as_well(broken, run_python):
    """Activation by import raises the error of this package, with torch's as its cause."""
    program = "import flagos_runtime"
    result = run_python(program, env={**broken, "FLAGOS_PLATFORM": "sim"})

    assert "flagos_runtime.errors.ActivationError: entry point 'acme' of acme-torch 1.2: " in result.stderr
    assert f"OSError: {MISSING}" in result.stderr


def test_switching_it_off_helps(broken, run_command):
    """The hint is true: without autoloading nothing is wrong."""
    assert run_command("check", env={**broken, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}).returncode == 0


def test_replay_of_a_broken_torch_is_what_the_host_says(broken, run_command, tmp_path):
    """The snapshot holds the cause, and its replay equals the live check apart from the time."""
    path = tmp_path / "host.json"
    path.write_text(run_command("snapshot", env=broken).stdout)
    live, replay = (
        run_command("check", "--json", *extra, env=env) for extra, env in (((), broken), (("--host", path), {}))
    )
    documents = [json.loads(item.stdout) for item in (live, replay)]
    for document in documents:
        del document["host"]["timestamp"]

    assert documents[0] == documents[1]
    assert live.stderr == replay.stderr
    assert (live.returncode, replay.returncode) == (1, 1)


def test_banners_do_not_spoil_the_answer(tmp_path, monkeypatch):
    """A plugin may print what it likes while torch loads it."""
    monkeypatch.setenv("PYTHONPATH", str(distribution(tmp_path, "import os; os.write(1, b'Acme 1.2 {}'); print('!')")))

    assert ask_torch(["torch.is_grad_enabled", "torch.no.such"]) == (
        {"torch.is_grad_enabled": True, "torch.no.such": None},
        None,
    )


def test_a_plugin_that_ends_the_process_is_an_answer(tmp_path, monkeypatch):
    """A crash in native code costs the child and nothing else."""
    monkeypatch.setenv("PYTHONPATH", str(distribution(tmp_path, "import os; os.abort()")))
    answers, failure = ask_torch(["torch.cuda.is_available"])

    assert answers == {"torch.cuda.is_available": None}
    assert failure is not None
    assert failure.message == "torch cannot be imported: that ends the process: exit status -6"


def test_a_plugin_that_hangs_is_ended(tmp_path, monkeypatch):
    """Whoever waits for a driver that does not answer is let go, with a code of its own."""
    monkeypatch.setenv("PYTHONPATH", str(distribution(tmp_path, "import signal; signal.pause()")))
    answers, failure = ask_torch(["torch.cuda.is_available"], timeout_s=0.5)

    assert answers == {"torch.cuda.is_available": None}
    assert str(failure) == "torch: error[FR302] gave no answer within 0.5 s"


def test_a_failure_without_an_entry_point_is_torchs_own():
    """What torch itself cannot do is not blamed on a plugin."""
    finding = import_failure(chain(ImportError("libtorch_cpu.so: undefined symbol")))

    assert (
        str(finding) == "torch: error[FR304] torch cannot be imported: ImportError: libtorch_cpu.so: undefined symbol"
    )


def test_an_entry_point_that_is_gone_is_still_named():
    """Where no distribution has that entry point any more, its name is what there is."""
    text = "RuntimeError: Failed to load the backend extension: gone. You can disable extension auto-loading"

    assert import_failure((text, "OSError: x")).where == "entry point 'gone' of an unknown distribution"
