"""A recorded host on the command line: the same document as on the host itself, and no trace in the process."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from flagos_runtime.report import report_schema
from flagos_runtime.snapshot_file import snapshot_schema

#: Taken for Python's start-up file: torch cannot be found, as on a machine that lacks it.
WITHOUT_TORCH = """
import sys
from importlib.machinery import PathFinder

class Visible(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "torch" else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Visible
"""
#: A machine with an NVIDIA card, its driver, and torch's CUDA build.
GPU = {
    "paths": ["/dev/nvidia0", "/dev/nvidiactl"],
    "pci": [{"address": "0000:01:00.0", "vendor": "0x10de", "device": "0x2330", "class": "0x030200"}],
    "libraries": {"libcuda.so.1": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
    "modules": {"torch": "2.11.0+cu128"},
    "torch": {"version.cuda": "12.8", "version.__version__": "2.11.0+cu128"},
    "answers": {"torch.cuda.is_available": True},
}


@pytest.fixture
def snapshot(run_command, expect_rc, tmp_path):
    """Return a function that takes a snapshot of this machine into a file, with sections exchanged."""

    def take(*, env=None, **sections) -> Path:
        document = json.loads(expect_rc(run_command("snapshot", env=env)))
        path = tmp_path / "host.json"
        path.write_text(json.dumps({**document, **sections}))
        return path

    return take


@pytest.fixture
def gpu(snapshot):
    """A snapshot of a machine with an NVIDIA card."""
    path = snapshot(**GPU)
    document = json.loads(path.read_text())
    # written by hand: what is not listed is not there
    del document["asked"]
    path.write_text(json.dumps(document))
    return path


def without_timestamp(text):
    document = json.loads(text)
    del document["host"]["timestamp"]
    return json.dumps(document)


def test_snapshot_is_json_alone_on_stdout(run_command):
    """The document fits its schema, and nothing else is printed."""
    result = run_command("snapshot")

    assert result.stderr == ""
    jsonschema.validate(json.loads(result.stdout), snapshot_schema())


def test_two_snapshots_differ_in_their_time_only(run_command):
    """A snapshot depends on the host and on nothing else."""
    first, second = (run_command("snapshot").stdout for _ in range(2))

    assert without_timestamp(first) == without_timestamp(second)


def test_replay_of_a_plain_host_is_what_the_host_says(run_command, snapshot):
    """Without a platform, check and its replay print the same bytes apart from the time."""
    live = run_command("check", "--json")
    path = snapshot()
    replays = [run_command("check", "--json", "--host", path) for _ in range(2)]

    assert [item.returncode for item in (live, *replays)] == [0, 0, 0]
    assert replays[0].stdout == replays[1].stdout
    assert without_timestamp(replays[0].stdout) == without_timestamp(live.stdout)


def test_plan_of_a_replay_is_that_of_the_host(run_command, snapshot):
    """With a platform, steps, decisions and reasons are those of the live host, byte for byte."""
    env = {"FLAGOS_PLATFORM": "sim", "FLAGOS_ALIAS_CUDA": "0"}
    live = run_command("plan", "--json", env=env)
    path = snapshot(env=env)
    replays = [run_command("plan", "--json", "--host", path) for _ in range(2)]

    assert "FLAGOS_ALIAS_CUDA" in live.stdout
    assert [item.stdout for item in replays] == [live.stdout] * 2


def test_check_of_a_replay_shows_what_would_be_done(run_command, snapshot):
    """With a platform nothing is active: the plan is shown as planned, the same each time."""
    path = snapshot(env={"FLAGOS_PLATFORM": "sim"})
    first, second = (run_command("check", "--json", "--host", path) for _ in range(2))
    document = json.loads(first.stdout)

    assert (first.returncode, first.stdout) == (0, second.stdout)
    jsonschema.validate(document, report_schema())
    assert document["activation"] == {"state": "inactive", "reason": f"replayed from {path}"}
    assert document["platform"]["name"] == "sim"
    assert "planned" in {item["state"] for item in document["patches"]} <= {"planned", "skipped"}
    assert document["aliases"][0]["reason"].startswith("planned: ")
    assert document["probes"][0]["original"] == "False"


def test_headline_says_what_cuda_would_mean(run_command, expect_rc):
    """The first line of a replay tells what a program gets there, and that nothing is active here."""
    host = Path(__file__).parent / "hosts" / "ascend_910b.json"
    headline = expect_rc(run_command("check", "--host", str(host))).splitlines()[0]

    assert headline == 'platform ascend | device npu | inactive | "cuda" means npu once active'


def test_another_host_is_judged_by_its_own_facts(run_command, gpu):
    """A machine with a card is recognised on one without, and the alias stays off by what its torch answered."""
    document = json.loads(run_command("check", "--json", "--host", gpu, "--require", "alias:flagos").stdout)

    assert document["platform"]["name"] == "cuda"
    assert document["platform"]["why"][0].startswith("cuda: card found (/dev/nvidia0, pci 10de:2330)")
    assert not any(item["state"] == "applied" for item in document["patches"])


def test_requirements_are_judged_on_the_recorded_host(run_command, gpu):
    """What the recorded platform declares counts; what would first have to be activated does not."""
    assert run_command("check", "--host", gpu, "--require", "eager").returncode == 0
    assert run_command("check", "--host", gpu, "--require", "alias:cuda").returncode == 1


def test_environment_of_the_replaying_process_does_not_count(run_command, snapshot):
    """The recorded switches hold; those of the shell that replays are another machine's."""
    path = snapshot()
    with_platform = run_command("check", "--json", "--host", path, env={"FLAGOS_PLATFORM": "sim"})

    assert with_platform.stdout == run_command("check", "--json", "--host", path).stdout


def test_another_route_file_is_pointed_out(run_command, snapshot, tmp_path):
    """The route file is this machine's; where the recorded host read another one, a note says so."""
    routes = tmp_path / "routes.yaml"
    routes.write_text("version: 1\nplatform: sim\n")
    path = snapshot(env={"FLAGOS_ROUTES": str(routes)})
    replay = run_command("check", "--host", path, "--json")
    with_file = run_command("check", "--host", path, "--json", "--routes", routes)

    assert "FLAGOS_ROUTES: note[FR118] was " in replay.stderr
    assert json.loads(replay.stdout)["platform"]["name"] is None
    assert with_file.stderr == ""
    assert json.loads(with_file.stdout)["platform"]["name"] == "sim"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cuda", "alias 'cuda' is off: planned: "),
        ("torch.cuda.is_available", "step 'probe:torch.cuda.is_available' planned: "),
        ("aten::mm", "a snapshot does not record which kernels torch has"),
    ],
)
def test_explain_tells_of_the_recorded_host(name, line, run_command, snapshot):
    """What is explained is the recorded plan, and nothing of the process that replays."""
    result = run_command("explain", name, "--host", snapshot(env={"FLAGOS_PLATFORM": "sim"}))

    assert result.returncode == 0
    assert result.stdout.startswith(line)
    assert "in force" not in result.stdout


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_bad_snapshot_is_wrong_use(command, run_command, tmp_path):
    """Exit code 2, the finding on stderr, and nothing on stdout."""
    path = tmp_path / "host.json"
    path.write_text('{"schema_version": 7}')
    result = run_command(command, "--json", "--host", path)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{path}: error[FR117] schema_version is 7, wanted 1\n  hint: ")


def test_deep_measures_this_host(run_command, snapshot):
    """Nothing can be measured on a recorded machine."""
    assert run_command("check", "--deep", "--host", snapshot()).returncode == 2


def test_replay_needs_no_torch(run_command, snapshot, tmp_path):
    """A machine without torch takes snapshots, checks itself, and replays hosts that have it."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(WITHOUT_TORCH)
    bare = {"PYTHONPATH": str(site)}
    path = snapshot(env={"FLAGOS_PLATFORM": "sim"})

    own = run_command("snapshot", env=bare)
    assert own.returncode == 0, own.stderr
    assert json.loads(own.stdout)["modules"]["torch"] is None
    assert set(json.loads(own.stdout)["answers"].values()) == {None}
    assert run_command("check", env=bare).returncode == 0
    for command in ("check", "plan"):
        here = run_command(command, "--json", "--host", path)
        there = run_command(command, "--json", "--host", path, env=bare)
        assert (there.returncode, there.stdout) == (0, here.stdout)


def test_replay_loads_no_torch(run_python, expect_rc, snapshot):
    """A plan for another host is made without importing torch."""
    result = run_python(
        f"""
        import sys
        from pathlib import Path
        from flagos_runtime.replay import replay
        found = replay(Path({str(snapshot(env={"FLAGOS_PLATFORM": "sim"}))!r}))
        print(len(found.preview.plan.steps) > 100, "torch" in sys.modules)
        """,
        env={"FLAGOS_RUNTIME": "off"},
    )

    assert expect_rc(result).split() == ["True", "False"]


def test_activation_does_not_load_the_snapshot(run_python, expect_rc):
    """Importing the package pays for none of this."""
    code = """
        import sys
        import flagos_runtime
        print({"snapshot", "snapshot_file", "replay", "autoloading", "masking", "documents"}
              & {name.rpartition(".")[2] for name in sys.modules if name.startswith("flagos_runtime.")})
    """

    assert expect_rc(run_python(code)).strip() == "set()"
    assert expect_rc(run_python(code, env={"FLAGOS_PLATFORM": "sim"})).strip() == "set()"
