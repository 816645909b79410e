"""The matrix of all platforms, the pages that are made from it, and the tool that starts a platform."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flagos_runtime.conformance import failures
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.hookspecs import CAPABILITIES
from flagos_runtime.matrix import matrix_page, matrix_report
from flagos_runtime.plugins import BUILTIN, PluginSet, load_plugins
from flagos_runtime.records import Capability, Platform
from flagos_runtime.render import page_markdown, page_table
from tools import new_platform, platform_docs

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = load_plugins(())
MATRIX = matrix_report(PLUGINS)
#: FlagGems' declarations of float64, bfloat16 and int64.
DTYPES = {
    "cuda": "yyy", "musa": "nyy", "ascend": "nyy", "metax": "yyy", "dcu": "yyy", "gcu": "nyn", "ppu": "yyy",
    "bpu": "nnn", "tsingmicro": "nyn", "kunlunxin": "nyy", "cambricon": "nyy", "iluvatar": "nyy", "sunrise": "nnn",
}  # fmt: skip
WORDS = {"y": "available", "n": "unavailable"}


def row(name: str):
    """Return the row of platform *name*."""
    return next(item for item in MATRIX["platforms"] if item["name"] == name)


# -- the document ---------------------------------------------------------------------------------------------------


def test_every_platform_has_a_cell_for_every_capability():
    """The matrix has no holes."""
    assert len(MATRIX["platforms"]) == len(BUILTIN)
    assert all(list(item["capabilities"]) == list(CAPABILITIES) for item in MATRIX["platforms"])


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_as_the_sources_declare(name):
    """What is declared of fp64, bf16 and int64 stands in the matrix."""
    cells = row(name)["capabilities"]
    states = [cells[item]["state"] for item in ("fp64", "amp.bf16", "int64")]

    assert states == [WORDS[letter] for letter in DTYPES[name]]


def test_what_is_not_declared_is_unknown():
    """A platform that says nothing is not taken to be able to do anything."""
    silent = Platform(name="acme", title="Acme", kind="private_use1", device_type="acme")
    (found,) = matrix_report(PluginSet((silent,)))["platforms"]

    assert {item["state"] for item in found["capabilities"].values()} == {"unknown"}


@pytest.mark.parametrize("grid", [True, False], ids=["grid", "states"])
def test_unknown_is_never_shown_as_available(grid):
    """No page lists an unknown capability among the available ones."""
    facts = (Capability("eager", "unknown", "declared", "nobody tried"),)
    acme = Platform(name="acme", title="Acme", kind="private_use1", device_type="acme", capabilities=facts)
    page = matrix_page(matrix_report(PluginSet((acme,))), grid=grid)
    (cells,) = next(item.rows for item in page.sections if item.title == "capabilities")

    assert "eager" not in cells
    assert "available" not in cells


@pytest.mark.parametrize(
    ("name", "meanings"),
    [
        ("cuda", ("itself", "on request")),
        ("metax", ("itself", "on request")),
        ("ascend", ("npu", "npu")),
        ("bpu", ("itself", "nothing")),
        ("sim", ("flagos", "itself")),
    ],
)
def test_what_cuda_and_flagos_mean(name, meanings):
    """The kind of a platform decides what the two names mean."""
    assert (row(name)["cuda"], row(name)["flagos"]) == meanings


def test_runtime_only_platforms_are_marked():
    """Two platforms promise their vendor's runtime and nothing beyond it."""
    found = {item["name"] for item in MATRIX["platforms"] if item["support"] == "runtime only"}

    assert found == {"bpu", "tsingmicro"}


def test_table_fits_a_terminal():
    """The table for people is not wider than what they look at, and folds no name."""
    text = page_table(matrix_page(MATRIX), width=100)

    assert max(map(len, text.splitlines())) <= 100
    assert all(item["name"] in text and item["kind"] in text for item in MATRIX["platforms"])


def test_markdown_has_a_cell_for_each_fact():
    """The Markdown form is the full grid."""
    text = page_markdown(matrix_page(MATRIX, grid=True))

    assert text.count("| unknown ") == sum(
        cell["state"] == "unknown" for item in MATRIX["platforms"] for cell in item["capabilities"].values()
    )


def test_broken_plugins_are_listed():
    """A plugin that did not load is missing from the matrix and named below it."""
    broken = PluginSet(diagnostics=(Diagnostic("FR201", "error", "plugin 'acme'", "the import raised"),))

    assert [item["code"] for item in matrix_report(broken)["diagnostics"]] == ["FR201"]


def test_matrix_loads_no_torch(run_python, expect_rc):
    """The matrix is static: it is printed without torch and without asking the host."""
    code = """
        import atexit, runpy, sys
        atexit.register(lambda: print("torch" in sys.modules, file=sys.stderr))
        sys.argv = ["flagos-runtime", "matrix", "--json"]
        runpy.run_module("flagos_runtime", run_name="__main__")
    """
    result = run_python(code)
    document = json.loads(expect_rc(result))

    assert {item["name"] for item in document["platforms"]} >= {path.rpartition(".")[2] for path in BUILTIN}
    assert result.stderr.splitlines()[-1] == "False"


# -- the pages ------------------------------------------------------------------------------------------------------


def test_pages_are_those_of_the_records():
    """docs/platforms holds what `make docs` writes, and no page of a platform that is gone."""
    written = {path.name: path.read_text(encoding="utf-8") for path in platform_docs.FOLDER.glob("*.md")}

    assert written == platform_docs.pages(), "run make docs"


def test_every_name_is_on_the_page():
    """The table of names holds each name that a platform has."""
    text = platform_docs.pages()["names.md"]
    names = [name for item in PLUGINS.platforms for name in (item.gems_vendor, *item.visible_devices) if name]

    assert [name for name in names if f"`{name}`" not in text] == []


# -- starting a platform --------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """Return a copy of what the tool touches."""
    for folder in ("flagos_runtime", "platforms"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_new_platform_is_listed_and_told_what_is_missing(tree):
    """A platform from the template loads, and the checks name each fact that it still lacks."""
    path = new_platform.start_platform("acme", tree)
    spec = importlib.util.spec_from_file_location("acme_from_template", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert '    "flagos_platforms.acme",\n)\n' in (tree / "flagos_runtime" / "plugins.py").read_text(encoding="utf-8")
    assert sorted(failures(module.flagos_platform())) == [
        "capabilities_have_source",
        "gems_vendor_known",
        "names_complete",
        "names_have_source",
        "probes_have_presence",
        "visible_devices_listed",
    ]


def test_new_platform_is_loaded_from_the_tree(tree):
    """The new file is one of the built-in platforms at once, and passes the linter."""
    new_platform.start_platform("acme", tree)
    code = "from flagos_runtime.plugins import load_plugins as f; print(*(item.name for item in f(()).platforms))"
    env = {**os.environ, "PYTHONPATH": f"{tree}:{tree / 'platforms'}", "FLAGOS_RUNTIME": "off"}
    out = subprocess.check_output([sys.executable, "-c", code], env=env, cwd=tree, text=True, timeout=60)
    config = ["--config", str(ROOT / "pyproject.toml")]
    subprocess.run([sys.executable, "-m", "ruff", "check", *config, "platforms"], cwd=tree, check=True, timeout=60)

    assert out.split()[-1] == "acme"


@pytest.mark.parametrize("name", ["Acme", "9acme", "", "cuda"])
def test_new_platform_needs_a_new_name(tree, name):
    """A name that cannot be a platform's, or is one, changes nothing."""
    before = (tree / "flagos_runtime" / "plugins.py").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        new_platform.start_platform(name, tree)

    assert (tree / "flagos_runtime" / "plugins.py").read_text(encoding="utf-8") == before
