"""What kernel packages serve, read from their files and without importing them."""

from __future__ import annotations

from importlib.machinery import ModuleSpec

import pytest

from flagos_runtime.integration.routing import gems_table
from flagos_runtime.integration.routing.gems_table import cpp_table, table, tileops_table

SOURCE = """\
import torch
from flag_gems.ops import *

__version__ = "9.8.7"
_FULL_CONFIG = (
    ("mm", mm),
    ("mm.default", mm),
    ("sum.dim_IntList", sum_dim),
    ("_to_copy", to_copy, lambda: torch_ge("2.4")),
    ("__or__.Scalar", bitwise_or_scalar),
    (1, 2),
    (),
)
raise RuntimeError("this file is read, not run")
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Let packages be found in a folder that a test fills; none is there at first, and none has metadata."""

    def find(name):
        folder = tmp_path / name
        if not folder.is_dir():
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    def add(name, text="", *files):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        for file in files:
            (folder / file).touch()

    monkeypatch.setattr(gems_table, "find_spec", find)
    monkeypatch.setattr(gems_table, "_version", lambda _: "")
    return add


def test_table_of_flaggems(packages):
    """The overloads are those that its file registers, in one spelling; the version stands in the file."""
    packages("triton")
    packages("flag_gems", SOURCE)
    found = table()

    assert (found.available, found.reason, found.version) == (True, "flag_gems 9.8.7", "9.8.7")
    assert found.overloads == {"aten::mm", "aten::sum.dim_IntList", "aten::_to_copy", "aten::__or__.Scalar"}


def test_installed_distribution_tells_the_version_first(packages, monkeypatch):
    """A vendor's build may have a version that its file does not know."""
    monkeypatch.setattr(gems_table, "_version", lambda _: "5.0.2+musa")
    packages("triton")
    packages("flag_gems", SOURCE)

    assert table().version == "5.0.2+musa"


@pytest.mark.parametrize(
    ("there", "source", "reason"),
    [
        ((), "", "flag_gems is not installed; install flagos-runtime[gems]"),
        (("flag_gems",), SOURCE, "flag_gems is there and triton is not installed; install"),
        (("flag_gems", "triton"), "x = 1", "has no _FULL_CONFIG that names overloads"),
        (("flag_gems", "triton"), "_FULL_CONFIG = build()", "has no _FULL_CONFIG that names overloads"),
        (("flag_gems", "triton"), "def", "cannot be read: invalid syntax"),
    ],
    ids=["absent", "without triton", "without a table", "computed table", "broken file"],
)
def test_flaggems_that_cannot_serve(packages, there, source, reason):
    """The reason says what is missing and what to install."""
    for name in there:
        packages(name, source if name == "flag_gems" else "")
    found = table()

    assert (found.available, found.overloads) == (False, None)
    assert reason in found.reason


def test_cpp_kernels_of_flaggems(packages):
    """Known by name, they stay unavailable: no table says what they serve."""
    absent = cpp_table().reason
    packages("flag_gems", SOURCE, "c_operators.cpython-311.so")

    assert absent.startswith("flag_gems is not installed")
    assert (cpp_table().available, cpp_table().reason) == (
        False,
        "no kernel table is known for flag_gems.c_operators",
    )


def test_flaggems_without_cpp_kernels(packages):
    """The usual build has none."""
    packages("flag_gems", SOURCE)

    assert cpp_table().reason == "flag_gems is installed without its C++ kernels (flag_gems.c_operators)"


def test_tileops(packages):
    """Installed or not, nothing is known of what it serves."""
    absent = tileops_table().reason
    packages("tileops")

    assert absent == "tileops is not installed"
    assert (tileops_table().available, tileops_table().reason) == (False, "no kernel table is known for tileops")


def test_installed_flaggems_is_read_without_being_imported(run_python, expect_rc):
    """Reading the table loads neither torch nor triton nor flag_gems."""
    result = run_python(
        """
        import sys
        from flagos_runtime.integration.routing.gems_table import table
        found = table()
        print(found.available and "aten::sum.dim_IntList" not in found.overloads)
        print(sorted({"torch", "triton", "flag_gems"} & set(sys.modules)))
        """,
        env={"FLAGOS_RUNTIME": "off"},
    )

    assert expect_rc(result).split() == ["False", "[]"]
