"""The command line: exit codes, what goes to which stream, and what it costs to start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from typer.testing import CliRunner

import flagos_runtime
from flagos_runtime import cli
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ActivationError, ConfigError
from flagos_runtime.plan import AliasStatus, Decision, Explanation, Plan
from flagos_runtime.records import Capability, Detection, Platform, Status, StepSpec
from flagos_runtime.report import report_schema

ROOT = Path(__file__).parents[1]

SIM = Platform("sim", "Simulator", "sim", "flagos", capabilities=(Capability("bf16", "available", "declared"),))
PLAIN = Status("inactive", "no accelerator was found")
ACTIVE = Status(
    "active",
    "every step was applied",
    "sim",
    "flagos",
    detection=Detection(SIM, "argument"),
    aliases=(AliasStatus("cuda", "flagos", active=True, reason="torch has no CUDA"),),
)
BAD_KEY = Diagnostic(
    "FR103", "error", "routes.yaml:3:1", "unknown key 'alises'", "did you mean 'aliases'?", "alises:\n^"
)


@dataclass
class FakeActivation:
    """Stands in for the composition root: answers with records and remembers what it was asked."""

    record: Status = PLAIN
    error: BaseException | None = None
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    explanation: Explanation = field(default_factory=lambda: Explanation("cuda", "alias", ("cuda means flagos",)))

    def activate(self, platform=None, routes=None):
        self.asked.append((platform, routes))
        if self.error is not None:
            raise self.error
        return self.record

    def status(self):
        return self.record

    def preview(self, platform=None, routes=None):
        if isinstance(self.error, ConfigError):
            raise self.error
        step = StepSpec("device:flagos", "device", "torch.flagos", "device:install", summary="make it real")
        left_out = Decision("patch:philox", "flag_gems", "skipped", "flag_gems is not installed")
        return SimpleNamespace(
            plan=Plan(SIM, (step,), (left_out,)),
            detection=Detection(SIM, "argument"),
            routes=SimpleNamespace(source="/etc/routes.yaml"),
            diagnostics=self.record.diagnostics,
        )

    def explain(self, name):
        return self.explanation

    def known(self):
        return None

    def api_table(self):
        return (SimpleNamespace(name="torch.cuda.current_device", treatment="same", detail=""),)


def put(monkeypatch, name, fake):
    """Let ``flagos_runtime.<name>`` be *fake* for one test."""
    monkeypatch.setitem(sys.modules, f"flagos_runtime.{name}", fake)
    parent, _, leaf = f"flagos_runtime.{name}".rpartition(".")
    monkeypatch.setattr(sys.modules.get(parent, flagos_runtime), leaf, fake, raising=False)


@pytest.fixture
def activation(monkeypatch):
    """A composition root and plugins without a host."""
    fake = FakeActivation()
    put(monkeypatch, "activation", fake)
    put(monkeypatch, "plugins", SimpleNamespace(load_plugins=lambda: SimpleNamespace(platforms=(SIM,))))
    return fake


@pytest.fixture
def loader(monkeypatch, activation):
    """A loader that finds what the test puts into ``error`` or ``diagnostics``."""

    def load_routes(path, known):
        if fake.error is not None:
            raise fake.error
        return SimpleNamespace(diagnostics=fake.diagnostics)

    fake = SimpleNamespace(
        load_routes=load_routes, bundled_routes=lambda: ROOT / "routes.yaml", error=None, diagnostics=()
    )
    put(monkeypatch, "config.loader", fake)
    return fake


def invoke(*arguments):
    """Run one command in this process."""
    return CliRunner().invoke(cli.app, arguments)


# -- check ------------------------------------------------------------------------------------------------------


def test_check_of_a_plain_host_is_all_right(activation):
    """A host without an accelerator is no problem: inactive, with the reason, exit code 0."""
    result = invoke("check")

    assert result.exit_code == 0
    assert result.stdout.startswith("platform none | device none | inactive")
    assert "no accelerator was found" in result.stdout
    assert result.stderr == ""


def test_check_passes_its_options_on(activation):
    """The platform and the route file of the command line reach the activation."""
    invoke("check", "--platform", "sim", "--routes", "mine.yaml")

    assert activation.asked == [("sim", "mine.yaml")]


def test_check_json_is_alone_on_stdout_and_valid(activation):
    """The JSON is valid against the schema, and findings go to stderr as text."""
    activation.record = replace(ACTIVE, diagnostics=(Diagnostic("FR303", "note", "pci", "the probe is overridden"),))

    result = invoke("check", "--json")

    jsonschema.validate(json.loads(result.stdout), report_schema())
    assert result.stderr == "pci: note[FR303] the probe is overridden\n"
    assert result.exit_code == 0


def test_check_markdown(activation):
    """Markdown starts with the headline in bold."""
    assert invoke("check", "--markdown").stdout.startswith(r"**platform none \| device none")


def test_check_refuses_two_layouts(activation):
    """One report has one layout."""
    assert invoke("check", "--json", "--markdown").exit_code == 2


def test_check_finds_a_problem(activation):
    """An error in the report is exit code 1."""
    activation.record = replace(ACTIVE, diagnostics=(Diagnostic("FR601", "error", "torch.cuda", "drift"),))

    assert invoke("check").exit_code == 1


def test_check_reports_a_failed_activation(activation):
    """A failed activation is shown beside the state that it left, exit code 1."""
    activation.error = ActivationError("step 'device:flagos' failed", step="device:flagos")

    result = invoke("check", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["activation"]["state"] == "inactive"
    assert "error: step 'device:flagos' failed" in result.stderr


def test_check_reports_even_after_a_bug(activation):
    """An unexpected error leaves a report on stdout, and its traceback and one line on stderr, exit code 3."""
    activation.error = KeyError("boom")

    result = invoke("check", "--json")

    assert result.exit_code == 3
    assert json.loads(result.stdout)["diagnostics"][-1]["severity"] == "error"
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1] == "this is a bug in flagos_runtime: KeyError: 'boom'"


def test_bad_config_shows_every_finding(activation):
    """A wrong route file is exit code 2, each finding with its excerpt on stderr."""
    activation.error = ConfigError((BAD_KEY, replace(BAD_KEY, where="routes.yaml:9:1")))

    result = invoke("check", "--json")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == f"{BAD_KEY}\n{replace(BAD_KEY, where='routes.yaml:9:1')}\n"


def test_interrupted(activation):
    """Control-C is exit code 130 and one line."""
    activation.error = KeyboardInterrupt()

    result = invoke("check")

    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"


def test_met_requirements(activation):
    """Requirements that are met change nothing."""
    activation.record = ACTIVE

    assert invoke("check", "--require", "bf16, alias:cuda").exit_code == 0


def test_unmet_requirements_are_listed(activation):
    """Unmet requirements are listed on stderr with the reason, exit code 1."""
    result = invoke("check", "--json", "--require", "bf16,alias:cuda")

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "requirement 'bf16' is unknown: no platform",
        "requirement 'alias:cuda' is unknown: not declared for this platform",
    ]
    json.loads(result.stdout)


def test_unknown_requirement_is_wrong_use(activation):
    """A requirement that does not exist is exit code 2 with a suggestion."""
    result = invoke("check", "--require", "bf61")

    assert result.exit_code == 2
    assert "did you mean 'bf16'?" in result.stderr
    assert result.stdout == ""


def test_deep_check_of_a_host_without_a_platform(activation):
    """Where there is no platform, a deep check starts nothing, says what it could not measure, and is all right."""
    result = invoke("check", "--deep")

    assert result.exit_code == 0
    assert "\n16 unknown\n" in result.stdout
    assert result.stdout.count("not measured: there is no platform") == 16
    assert result.stderr == ""


def test_deep_check_measures(activation, monkeypatch):
    """A measurement that contradicts the declaration is a problem, and a requirement goes by what was measured."""
    activation.record = ACTIVE
    row = Capability("bf16", "unavailable", "measured", "computes in float32", "check --deep")
    monkeypatch.setattr("flagos_runtime.integration.deep.runner.measure", lambda platform, settings: [row])

    result = invoke("check", "--deep", "--json", "--require", "bf16", "--routes", "mine.yaml")

    assert result.exit_code == 1
    assert [item["code"] for item in json.loads(result.stdout)["diagnostics"]] == ["FR305"]
    assert "requirement 'bf16' is unavailable: declared available, measured unavailable: computes in float32" in (
        result.stderr.splitlines()
    )


# -- the other commands -----------------------------------------------------------------------------------------


def test_plan_changes_nothing(activation):
    """A plan is shown in order without activating."""
    result = invoke("plan")

    assert result.exit_code == 0
    assert "steps: 1 planned, 1 left out; nothing was changed" in result.stdout
    assert activation.asked == []


def test_plan_json(activation):
    """The plan as JSON has its steps and what was left out."""
    document = json.loads(invoke("plan", "--json").stdout)

    assert [item["id"] for item in document["steps"]] == ["device:flagos"]
    assert [item["reason"] for item in document["left_out"]] == ["flag_gems is not installed"]
    assert document["routes"] == "/etc/routes.yaml"


def test_explain(activation):
    """An explanation is printed line by line."""
    result = invoke("explain", "cuda", "--platform", "sim")

    assert (result.exit_code, result.stdout) == (0, "cuda means flagos\n")
    assert activation.asked == [("sim", None)]


def test_explain_json(activation):
    """An explanation as JSON has its kind."""
    assert json.loads(invoke("explain", "cuda", "--json").stdout)["kind"] == "alias"


def test_explain_of_an_unknown_name_is_wrong_use(activation):
    """A name that means nothing is exit code 2."""
    activation.explanation = Explanation("cuad", "unknown", ("did you mean 'cuda'?",))

    assert invoke("explain", "cuad").exit_code == 2


def test_validate(loader):
    """A valid file is called valid, and its warnings go to stderr."""
    loader.diagnostics = (replace(BAD_KEY, severity="warning"),)

    result = invoke("validate", "mine.yaml")

    assert (result.exit_code, result.stdout) == (0, "mine.yaml: valid\n")
    assert "warning[FR103]" in result.stderr


def test_validate_of_a_wrong_file(loader):
    """A wrong file is exit code 2; JSON names each finding."""
    loader.error = ConfigError((BAD_KEY,))

    result = invoke("validate", "mine.yaml", "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout) == {"file": "mine.yaml", "valid": False, "diagnostics": [BAD_KEY.to_dict()]}
    assert result.stderr == f"{BAD_KEY}\n"


def test_schema_of_the_report():
    """The command prints the schema that the repository holds."""
    expected = (ROOT / "schemas" / "report.schema.json").read_text(encoding="utf-8")

    assert invoke("schema", "report").stdout == expected


def test_schema_of_the_routes(monkeypatch):
    """Without a word the schema is that of the route file."""
    put(monkeypatch, "config.schema", SimpleNamespace(routes_schema=lambda: {"title": "routes"}))

    assert json.loads(invoke("schema").stdout) == {"title": "routes"}


def test_schema_of_something_else_is_wrong_use():
    """A document without a schema is exit code 2."""
    result = invoke("schema", "weather")

    assert result.exit_code == 2
    assert "known are routes, report" in result.stderr


def test_apis(activation):
    """The table of APIs is data, and is counted for people."""
    assert json.loads(invoke("apis", "--json").stdout)["apis"] == [
        {"name": "torch.cuda.current_device", "treatment": "same", "detail": ""}
    ]
    assert invoke("apis").stdout.startswith("torch.cuda: 1 same")


def test_init_writes_where_activation_looks(loader, monkeypatch, tmp_path):
    """Without a path the bundled routes go to the user's configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    result = invoke("init")

    assert result.stdout == f"{tmp_path}/flagos/routes.yaml\n"
    assert (tmp_path / "flagos" / "routes.yaml").read_text() == (ROOT / "routes.yaml").read_text()


def test_init_refuses_to_overwrite(loader, tmp_path):
    """A file that is there is left alone, exit code 2."""
    target = tmp_path / "routes.yaml"
    target.write_text("mine")

    result = invoke("init", str(target))

    assert (result.exit_code, target.read_text()) == (2, "mine")
    assert "--force" in result.stderr


def test_init_overwrites_when_told(loader, tmp_path):
    """With --force the file is replaced."""
    target = tmp_path / "routes.yaml"
    target.write_text("mine")

    assert invoke("init", str(target), "--force").exit_code == 0
    assert target.read_text() == (ROOT / "routes.yaml").read_text()


def test_init_says_why_it_cannot_write(loader, tmp_path):
    """A path that cannot be written is wrong use with the reason of the system."""
    (tmp_path / "file").write_text("")

    result = invoke("init", str(tmp_path / "file" / "routes.yaml"))

    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("arguments", [["chekc"], ["check", "--platfrom", "sim"], ["validate"], ["run", "missing.py"]])
def test_wrong_use(arguments):
    """Wrong usage is exit code 2 with nothing on stdout."""
    result = invoke(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")


# -- processes --------------------------------------------------------------------------------------------------

#: The command line in a process of its own with an activation that does nothing, started like the console script.
PROGRAM = """
import sys, types
fake = types.ModuleType("flagos_runtime.activation")
fake.activate = lambda *args, **kwargs: print("activated", flush=True)
import flagos_runtime
sys.modules[fake.__name__] = flagos_runtime.activation = fake
sys.argv[0] = "flagos-runtime"
from flagos_runtime.cli import main
main()
"""


def process(*arguments, program=PROGRAM, **environment):
    """Run *arguments* in a new interpreter and return what it said."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "FLAGOS_RUNTIME": "off", **environment}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def script(tmp_path, text):
    """Write a user's script."""
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


def test_run_looks_like_python(tmp_path):
    """A script is the main program: its name, its arguments and its folder are as Python would set them."""
    (tmp_path / "neighbour.py").write_text("value = 7")
    path = script(tmp_path, "import sys, neighbour\nprint(__name__, sys.argv[1:], neighbour.value)")

    result = process("run", path, "--json", "-x", "--", "check")

    assert result.stdout == "activated\n__main__ ['--json', '-x', '--', 'check'] 7\n"
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("statement", "code"),
    [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('gone')", 1), ("pass", 0), ("1 / 0", 1), ("sys.exit(3)", 3)],
)
def test_run_passes_the_exit_code_through(tmp_path, statement, code):
    """The exit code of a script is the exit code of the command."""
    assert process("run", script(tmp_path, f"import sys\n{statement}")).returncode == code


def test_run_shows_the_traceback_of_the_script_only(tmp_path):
    """An error in the script is shown as Python would, without a frame of ours, and is not called our bug."""
    path = script(tmp_path, "def f():\n    1 / 0\nf()")

    result = process("run", path)

    assert result.stderr.splitlines()[:2] == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 3, in <module>',
    ]
    assert "cli.py" not in result.stderr
    assert "bug in flagos_runtime" not in result.stderr


def test_run_honours_the_excepthook_of_the_script(tmp_path):
    """A hook that the script installs sees the script's error."""
    path = script(tmp_path, "import sys\nsys.excepthook = lambda *error: print('mine', error[0].__name__)\n1 / 0")

    result = process("run", path)

    assert result.stdout == "activated\nmine ZeroDivisionError\n"
    assert result.stderr == ""


def test_run_interrupted(tmp_path):
    """A script that is interrupted ends with exit code 130."""
    result = process("run", script(tmp_path, "import signal\nsignal.raise_signal(signal.SIGINT)"))

    assert result.returncode == 130
    assert result.stderr.endswith("interrupted\n")


def test_run_of_a_missing_script():
    """A script that is not there is wrong usage, and nothing is activated."""
    result = process("run", "/nowhere/script.py")

    assert (result.returncode, result.stdout) == (2, "")


def test_bug_in_a_process():
    """A bug is exit code 3 in a real process too."""
    result = process("plan")

    assert result.returncode == 3
    assert result.stderr.splitlines()[-1].startswith("this is a bug in flagos_runtime: AttributeError")


def test_console_without_utf8(tmp_path):
    """A report with a foreign character reaches a console that is plain ASCII."""
    program = PROGRAM.replace("main()\n", "").replace("cli import main", "console import say") + "say('M\\u00fcller')"

    result = process(program=program, PYTHONIOENCODING="ascii:strict")

    assert result.stdout == "M\\xfcller\n"


#: Runs the command line and then says which of the heavy modules it has imported.
LOADED = """
import sys
sys.argv[0] = "flagos-runtime"
import flagos_runtime
from flagos_runtime.cli import main
try:
    main()
finally:
    print("loaded", sorted({"torch", "rich", "pydantic", "yaml", "triton"} & set(sys.modules)), file=sys.stderr)
"""


def test_help_imports_nothing_heavy():
    """Help is plain text and needs none of the heavy modules."""
    result = process("--help", program=LOADED)

    assert result.returncode == 0
    assert "validate" in result.stdout
    assert result.stderr == "loaded []\n"


@pytest.mark.parametrize(
    "arguments",
    [["validate", ROOT / "routes.yaml"], ["schema"], ["schema", "report"]],
    ids=["validate", "schema", "report"],
)
def test_static_commands_import_no_torch(arguments):
    """A route file is checked, and a schema printed, on a machine without torch."""
    result = process(*arguments, program=LOADED)

    assert result.returncode == 0, result.stderr
    assert "'torch'" not in result.stderr.splitlines()[-1]


def test_version():
    """The version is that of the installed distribution."""
    assert invoke("--version").stdout == f"flagos-runtime {metadata.version('flagos-runtime')}\n"


def test_module_is_the_command_line():
    """``python -m flagos_runtime`` is the same program."""
    result = subprocess.run(
        [sys.executable, "-m", "flagos_runtime", "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FLAGOS_RUNTIME": "off"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert result.returncode == 0
    assert result.stdout.startswith("Usage: flagos-runtime")
