"""Documentation that cannot go stale: what it names exists, and what exists is named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flagos_runtime.diagnostics import CODES

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def code_in(page: Path) -> str:
    """Return what stands in fenced blocks and backticks of *page*."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`[^`\n]+`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return "\n".join([*blocks, *inline])


def targets() -> set[str]:
    """Return the targets of the Makefile that have a description."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_code_is_documented():
    """docs/diagnostics.md has one line for each code, and none for a code that does not exist."""
    text = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| `(FR\d+)`", text, re.MULTILINE) == sorted(CODES)


@PAGE
def test_make_targets_in_the_docs_exist(page):
    """Every `make X` that a page shows is a target."""
    shown = {word for line in re.findall(r"\bmake ((?:[a-z-]+ ?)+)", code_in(page)) for word in line.split()}

    assert shown <= targets()


@PAGE
def test_files_in_the_docs_exist(page):
    """Every path below the top folders that a page names is there."""
    shown = set(re.findall(r"\b(?:docs|tests|examples|flagos_runtime|platforms|schemas)/[\w/.]*\w\b", code_in(page)))
    missing = {path for path in shown if "acme" not in path and not (ROOT / path).exists()}

    assert missing == set()


def test_ci_runs_the_commands_of_the_readme():
    """A stranger's first two commands are run on every change."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    for command in ("make try", "make setup test"):
        assert re.search(f"^{command}", readme, re.MULTILINE)
        assert re.search(f"^{command}$", ci, re.MULTILINE)
    assert {"make wheel-smoke", "make lint", "make types", "make arch"} <= set(
        re.findall(r"^make [a-z-]+", ci, re.MULTILINE)
    )


@PAGE
def test_commands_in_the_docs_exist(page, commands):
    """Every `flagos-runtime X` that a page shows is a command of the program."""
    shown = set(re.findall(r"\bflagos-runtime ([a-z][a-z-]*)", code_in(page)))

    assert shown <= commands


@pytest.fixture(scope="module")
def commands() -> set[str]:
    """Return the commands that the program lists."""
    shown = subprocess.run(
        [sys.executable, "-m", "flagos_runtime", "--help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    return set(re.findall(r"^[\s│|]*([a-z][a-z-]+) {2,}", shown, re.MULTILINE))


def test_every_test_states_its_fact():
    """A failing test tells in a sentence what does not hold any more."""
    missing = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert missing == []
