"""GEMS_VENDOR: a name that no vendor has stops everything, one that contradicts the platform is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flagos_runtime.errors import ConfigError
from flagos_runtime.names import NAMES, name_text, require_vendor, vendor_warnings
from flagos_runtime.plugins import load_plugins
from tests.conftest import clean_environment

PLATFORMS = load_plugins(()).platforms
KNOWN = (
    "aipu, amd, arm, ascend, cambricon, enflame, hygon, iluvatar, kunlunxin, metax, mthreads, nvidia, spacemit, "
    "sunrise, thead, tsingmicro"
)


def platform(name: str):
    """Return the platform *name*."""
    return next(item for item in PLATFORMS if item.name == name)


@pytest.mark.parametrize(
    ("vendor", "hint"),
    [
        ("banana", ""),
        ("musa", "did you mean 'mthreads'?"),
        ("npu", "did you mean 'ascend'?"),
        ("nvidai", "did you mean 'nvidia'?"),
    ],
)
def test_unknown_vendor_is_an_error(vendor, hint):
    """A vendor that FlagGems does not have is an error with the list of those that it has."""
    with pytest.raises(ConfigError) as raised:
        require_vendor(vendor, PLATFORMS)
    (found,) = raised.value.diagnostics

    assert (found.code, found.severity, found.where) == ("FR116", "error", "GEMS_VENDOR")
    assert found.message == f"unknown vendor '{vendor}', known are {KNOWN}"
    assert found.hint == hint


@pytest.mark.parametrize("vendor", ["", *KNOWN.split(", ")])
def test_known_vendor_is_no_error(vendor):
    """A vendor of a platform is right, and so is one that only FlagGems knows, and none at all."""
    require_vendor(vendor, PLATFORMS)


def test_contradicting_vendor_is_a_warning():
    """FlagGems would compute for another chip than the one that was chosen."""
    (found,) = vendor_warnings("nvidia", PLATFORMS, platform("musa"))

    assert (found.code, found.severity) == ("FR116", "warning")
    assert found.message == "'nvidia' (platform 'cuda') contradicts platform 'musa', wanted 'mthreads'"


@pytest.mark.parametrize(("vendor", "name"), [("mthreads", "musa"), ("", "musa"), ("nvidia", "sim"), ("nvidia", "bpu")])
def test_agreeing_vendor_is_silent(vendor, name):
    """No warning where the two agree, where one is not set, and where FlagGems has no name for the platform."""
    assert tuple(vendor_warnings(vendor, PLATFORMS, platform(name))) == ()


def test_without_a_platform_nothing_is_contradicted():
    """A vendor on a host without an accelerator contradicts nothing."""
    assert tuple(vendor_warnings("nvidia", PLATFORMS, None)) == ()


def test_names_are_text():
    """Each name of each platform is one text, empty where there is none."""
    texts = [name_text(item, field) for item in PLATFORMS for field in NAMES]

    assert all(isinstance(text, str) for text in texts)


@pytest.mark.parametrize("command", ["plan", "check"])
def test_banana_ends_a_command(command):
    """GEMS_VENDOR=banana is wrong use, which has the exit status 2, and nothing is printed of a plan or a host."""
    words = [sys.executable, "-m", "flagos_runtime", command]
    env = clean_environment({"GEMS_VENDOR": "banana"})
    result = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)

    assert (result.returncode, result.stdout) == (2, "")
    assert "GEMS_VENDOR: error[FR116] unknown vendor 'banana'" in result.stderr


def test_banana_fails_the_import(run_python):
    """A program that imports the runtime is told, and torch stays as it is."""
    code = """
        import torch
        before = torch.cuda.is_available
        try:
            import flagos_runtime
        except Exception as error:
            print(type(error).__name__, torch.cuda.is_available is before, hasattr(torch, "flagos"))
    """
    env = {"GEMS_VENDOR": "banana", "FLAGOS_PLATFORM": "sim", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

    assert run_python(code, env=env).stdout.split() == ["ConfigError", "True", "False"]
