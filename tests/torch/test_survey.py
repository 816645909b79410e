"""A survey from end to end: planted kernels come out as what they are, and no case is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from flagos_runtime.config.loader import parse_routes
from flagos_runtime.facts import known_names
from flagos_runtime.survey.result import SurveyDocument, read, survey_schema
from tests.conftest import clean_environment

#: A package in FlagGems' place, whose kernels are right or have one fault each.
PLANTED = '''
import os
import signal
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db

__version__ = "9.9"
device = "cuda"
vendor_name = "nvidia"

WORKER, SURVEY = os.getpid(), os.getppid()
NOTES = Path(os.environ["PLANTED"])
orders = [0]

def first(what):
    """Tell whether nobody has asked for this before, in any process."""
    try:
        (NOTES / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

def right(a, b, *, alpha=1):
    return torch.sub(a, b, alpha=alpha)

def narrow(a, b, *, alpha=1):
    """Takes the dtype of the first operand for the dtype of the result."""
    return torch.ops.aten.sub.Tensor(a, torch.ops.aten.mul.Tensor(b, -alpha)).to(a.dtype)

def packed(a):
    """Reads the memory as if there were no gaps in it."""
    return torch.ops.aten.mul.Tensor(a.as_strided((a.numel(),), (1,)).reshape(a.shape), -1)

def killing(a):
    os.kill(os.getpid(), signal.SIGSEGV)

def hanging(a):
    if first("hung"):
        signal.pause()
    return torch.sigmoid(a)

def without_worker(a):
    if first("killed"):
        os.kill(WORKER, signal.SIGKILL)
        signal.pause()
    return torch.cos(a)

def interrupting(a):
    if "INTERRUPT" in os.environ and a.dtype == torch.float64 and first("interrupted"):
        os.kill(SURVEY, signal.SIGINT)
    return torch.sin(a)

def in_any_order(a, dim, index, source):
    """Writes the slices in another order each time."""
    orders[0] += "ORDERED" not in os.environ
    result = a.clone()
    places = range(index.numel())
    for at in reversed(places) if orders[0] % 2 else places:
        result.select(dim, int(index[at])).copy_(source.select(dim, at))
    return result

def refusing(a):
    raise NotImplementedError("not here")

_FULL_CONFIG = (
    ("sub.Tensor", right),
    ("add.Tensor", narrow),
    ("neg", packed),
    ("exp", killing),
    ("sigmoid", hanging),
    ("cos", without_worker),
    ("sin", interrupting),
    ("index_copy", in_any_order),
    ("tan", refusing),
)

def with_duplicates(info, device, dtype, requires_grad, **kwargs):
    from torch.testing._internal.opinfo.core import SampleInput
    make = lambda *size: torch.arange(8, dtype=torch.float32).reshape(size).to(dtype).requires_grad_(requires_grad)
    yield SampleInput(make(4, 2), args=(0, torch.tensor([1, 1, 3, 3]), make(4, 2)))

next(item for item in op_db if item.name == "index_copy").sample_inputs_func = with_duplicates
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the planted package, and a cache that the surveys of these tests share."""
    place = tmp_path_factory.mktemp("survey")
    (place / "flag_gems").mkdir()
    (place / "flag_gems" / "__init__.py").write_text(PLANTED, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def command(folder, tmp_path_factory):
    """Run `survey` with the planted package, and give what the kernels note a folder of its own."""

    def run(*arguments, **env):
        setting = {
            "FLAGOS_PLATFORM": "sim",
            "PYTHONPATH": str(folder),
            "XDG_CACHE_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            "PLANTED": str(tmp_path_factory.mktemp("notes")),
        }
        return subprocess.run(
            [sys.executable, "-m", "flagos_runtime", "survey", *map(str, arguments)],
            env=clean_environment({**setting, **env}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def survey(folder, command, expect):
    """Return the path of a survey of every planted kernel."""
    path = folder / "result.json"
    expect(command("run", "-o", path, "-j", 2, "--timeout", 5))
    return path


@pytest.fixture(scope="module")
def expect():
    """Assert the exit status of a finished child; a failure shows both streams."""

    def check(result, rc=0):
        assert result.returncode == rc, f"-- stdout\n{result.stdout}\n-- stderr\n{result.stderr}"
        return result.stdout

    return check


@pytest.fixture(scope="module")
def overloads(survey):
    """Return what was measured, by overload."""
    return {item["name"]: item for item in read(survey)["overloads"]}


def statuses(item, kind=None):
    """Return how often each status is among the cases of *kind*."""
    return Counter(case["status"] for case in item["cases"] if kind in {None, case["kind"]})


def test_right_kernel_is_strict(overloads):
    """A kernel that equals the CPU on every case is STRICT; complex is left to the prior kernel and not weighed."""
    found = statuses(overloads["aten::sub.Tensor"])

    assert overloads["aten::sub.Tensor"]["verdict"] == "STRICT"
    assert set(found) == {"PASS", "UNVERIFIABLE"}


def test_cases_have_every_dtype(overloads):
    """Cases are made in each dtype that the operator takes, and in two at once."""
    assert {case["dtype"] for case in overloads["aten::sub.Tensor"]["cases"]} == {
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int64",
        "complex64",
        "float32+int64",
        "float32+float64",
    }


def test_wrong_promotion_is_wrong(overloads):
    """A result of the wrong dtype is WRONG, whatever its values are."""
    details = [case["detail"] for case in overloads["aten::add.Tensor"]["cases"] if case["status"] == "WRONG"]

    assert overloads["aten::add.Tensor"]["verdict"] == "BASIC_ONLY"
    assert any("has dtype" in text for text in details)


def test_kernel_that_ignores_strides_is_wrong(overloads):
    """A kernel that is right for contiguous tensors alone is WRONG on those with gaps."""
    assert statuses(overloads["aten::neg"], "gaps")["WRONG"] > 0
    assert statuses(overloads["aten::neg"], "recorded")["PASS"] > 0
    assert overloads["aten::neg"]["verdict"] == "BASIC_ONLY"


def test_segmentation_fault_is_a_crash(overloads):
    """Each case whose process dies is a CRASH that names the signal, and nothing else is lost."""
    item = overloads["aten::exp"]

    assert item["verdict"] == "FAILED"
    assert statuses(item)["CRASH"] > 10
    assert {case["detail"] for case in item["cases"] if case["status"] == "CRASH"} == {
        "the process was ended by signal 11"
    }


def test_case_without_answer_is_a_timeout(overloads):
    """The case that hangs is a TIMEOUT; those after it are tried."""
    found = statuses(overloads["aten::sigmoid"])

    assert (found["TIMEOUT"], overloads["aten::sigmoid"]["verdict"]) == (1, "BASIC_ONLY")
    assert found["PASS"] > 10


def test_killed_worker_costs_one_case(overloads):
    """A worker that is killed makes the case that it was at a CRASH; the survey goes on."""
    found = statuses(overloads["aten::cos"])

    assert (found["CRASH"], overloads["aten::cos"]["verdict"]) == (1, "BASIC_ONLY")
    assert found["PASS"] > 10


def test_error_of_the_kernel_is_an_error(overloads):
    """What a kernel raises is the detail of an ERROR."""
    cases = [case for case in overloads["aten::tan"]["cases"] if case["status"] == "ERROR"]

    assert overloads["aten::tan"]["verdict"] == "FAILED"
    assert {case["detail"] for case in cases} == {"NotImplementedError: not here"}


def test_order_dependent_case_is_unstable(overloads):
    """A case whose answer differs between two runs is UNSTABLE and not WRONG."""
    found = statuses(overloads["aten::index_copy"])

    assert found["UNSTABLE"] > 0
    assert found["WRONG"] == 0


def test_unstable_case_makes_nothing_worse(folder, command, survey, expect):
    """A case that is stable in one survey and unstable in another is told apart, and the exit status stays 0."""
    other = folder / "ordered.json"
    document = read(survey)
    expect(command("run", "-o", other, "--ops", "aten::index_copy", ORDERED="1"))
    unstable = folder / "unordered.json"
    expect(command("run", "-o", unstable, "--ops", "aten::index_copy"))
    found = json.loads(expect(command("diff", other, unstable, "--json")))

    assert document["cohort"]["overloads"]["count"] == 9
    assert {(item["before"], item["after"], item["worse"]) for item in found["unstable"]} == {
        ("PASS", "UNSTABLE", False)
    }
    assert (found["cases"], found["verdicts"]) == ([], [])


def test_other_cohort_is_refused(folder, command, survey, expect):
    """Surveys of other overloads are not compared; what differs is named."""
    part = folder / "part.json"
    expect(command("run", "-o", part, "--ops", "aten::tan"))
    result = command("diff", survey, part)
    expect(result, 2)

    assert "error[FR122] 'overloads' is {'count': 9" in result.stderr


def test_interrupted_survey_goes_on(folder, command, survey, expect):
    """After an interrupt `--resume` tries what is left: every case once, the same cases as without."""
    path = folder / "interrupted.json"
    expect(command("run", "-o", path, "--ops", "aten::sin,aten::sub.Tensor", INTERRUPT="1"), 130)
    begun = (folder / "interrupted.json.journal").read_text().count('"case"')
    refused = command("run", "-o", path, "--ops", "aten::sin,aten::sub.Tensor")
    expect(command("run", "-o", path, "--ops", "aten::sin,aten::sub.Tensor", "--resume"))
    found = {item["name"]: [case["id"] for case in item["cases"]] for item in read(path)["overloads"]}
    whole = {item["name"]: [case["id"] for case in item["cases"]] for item in read(survey)["overloads"]}

    assert refused.returncode == 2
    assert "pass --resume to go on with it" in refused.stderr
    assert 0 < begun < sum(map(len, found.values()))
    assert found == {name: whole[name] for name in found}
    assert not (folder / "interrupted.json.journal").exists()


def test_result_fits_its_schema(survey):
    """What a survey writes is described by the schema that is published, and names what it was made with."""
    jsonschema = pytest.importorskip("jsonschema")
    document: SurveyDocument = json.loads(survey.read_text())
    jsonschema.validate(document, survey_schema())

    assert set(document["versions"]) >= {"python", "torch", "triton", "flagos-runtime"}
    assert all(document["cohort"][name] for name in ("harness", "routes", "torch"))


def test_routes_of_a_survey_are_valid(command, survey, expect):
    """The routes that a survey leads to name what is STRICT, with the evidence, and can be read."""
    text = expect(command("routes", survey))
    routes = parse_routes(text.encode(), "survey", known_names()).of("sim").ops

    assert {route.pattern: route.use for route in routes} == dict.fromkeys(
        ("aten::sin", "aten::sub.Tensor"), ("flaggems", "vendor")
    )
    assert {route.evidence.verdict for route in routes} == {"STRICT"}
