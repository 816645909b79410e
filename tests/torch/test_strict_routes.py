"""Routes that a survey on sim has led to, under a whole model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import clean_environment

DATA = Path(__file__).parents[1] / "data"
#: What `survey routes` wrote; the overloads that are STRICT in Triton's interpreter.
ROUTES = DATA / "strict_on_sim.yaml"


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """Run a GPT-2-shaped model under those routes, forward and backward, and return what it prints."""
    folder = tmp_path_factory.mktemp("gpt")
    env = {"FLAGOS_PLATFORM": "sim", "FLAGOS_ROUTES": str(ROUTES), "XDG_CACHE_HOME": str(folder)}
    result = subprocess.run(
        [sys.executable, DATA / "gpt.py"],
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_model_equals_the_cpu(answer) -> None:
    """Logits, loss and gradients of a model on FlagGems' kernels are the CPU's within 1e-4."""
    assert answer["error"] <= 1e-4


def test_flaggems_served_the_model(answer) -> None:
    """The counters name the overloads that FlagGems' kernels have served; the rest was left to the device."""
    served = {name for name, calls in answer["served"].items() if calls.get("flaggems")}

    assert served >= {"aten::_softmax", "aten::gelu", "aten::embedding", "aten::add.Tensor", "aten::_log_softmax"}
