"""Fixtures of every test: child interpreters with a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

# the process of the tests imports the package and stays as it is; activation is tested in children
os.environ["FLAGOS_RUNTIME"] = "off"

GOLDEN = Path(__file__).parent / "golden"

#: What would change the answer of a child and belongs to the person who runs the tests.
PRIVATE = ("FLAGOS_", "GEMS_", "TORCH_DEVICE_BACKEND_AUTOLOAD", "TRITON_INTERPRET", "PYTHONWARNINGS")


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment without the names that steer the runtime, plus *extra*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    return {**kept, **(extra or {})}


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program in a fresh interpreter: what changes torch must not outlive its test."""

    def run(
        code: str, *, env: Mapping[str, str] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error::UserWarning", "-W", "error::ResourceWarning", "-c", dedent(code)],
            env=clean_environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def run_command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in a fresh interpreter, for a user without a configuration."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flagos_runtime", *map(str, arguments)],
            env=clean_environment({"XDG_CONFIG_HOME": str(tmp_path / "config"), **(env or {})}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def expect_rc() -> Callable[..., str]:
    """Assert the exit status of a finished child and return what it printed; a failure shows both streams."""

    def expect(result: subprocess.CompletedProcess[str], rc: int = 0) -> str:
        if result.returncode != rc:
            pytest.fail(
                f"exit status {result.returncode}, wanted {rc}\n-- stdout\n{result.stdout}\n-- stderr\n{result.stderr}"
            )
        return result.stdout

    return expect


@pytest.fixture
def expect_golden() -> Callable[[str, str], None]:
    """Compare a text with the file of that name in tests/golden; `make golden` rewrites the file."""

    def expect(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "run make golden and review the diff"

    return expect
