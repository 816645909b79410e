"""Kept route files: complete, and never used once anything that they rest on has changed."""

from __future__ import annotations

import pytest

from flagos_runtime.config.cache import cached
from flagos_runtime.config.loader import load_routes
from flagos_runtime.records import BackendTable

TEXT = """\
version: 1
platforms:
  sim:
    probes: [{target: torch.cuda.is_available, redirect: device.is_available}]
    aliases: [{name: cuda, to: device, when: {switch_on: FLAGOS_ALIAS_CUDA}}]
    patches: [{id: flaggems.philox}]
    capabilities: {fp64: {state: unknown, source: a test}}
    ops:
      prefer: [flaggems, vendor]
      exclude: [aten::add.Tensor, aten::sort.*]
      routes:
        aten::mm: flaggems
        aten::cumsum:
          use: [tileops, vendor]
          guard: {dtypes: [float16], min_ndim: 1, contiguous: true}
          on_failure: next
          evidence: {verdict: STRICT, speedup: 2.4, device: "MTT S5000", date: 2026-12-01}
"""
GEMS = BackendTable(True, "flag_gems 5.0.2", frozenset({"aten::mm"}), "5.0.2")


@pytest.fixture
def read(tmp_path, known):
    """Load a route file through the cache and tell whether it was read anew."""
    path = tmp_path / "routes.yaml"
    path.write_text(TEXT, encoding="utf-8")

    def read_file(*, facts="torch 2.13", tables=None, text=None):
        if text is not None:
            path.write_text(text, encoding="utf-8")
        loads = []

        def load():
            loads.append(path)
            return load_routes(path, known)

        serving = {"flaggems": GEMS, **(tables or {})}
        env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        return cached(path, facts, load, env, serving.__getitem__), bool(loads)

    return read_file


def test_kept_routes_equal_the_file(read):
    """Everything that a route file says survives the cache."""
    fresh, kept = read(), read()

    assert [fresh[1], kept[1]] == [True, False]
    assert kept[0] == fresh[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"facts": "torch 2.14"},
        {"text": TEXT.replace("vendor", "cpu")},
        {"tables": {"flaggems": BackendTable(False, "flag_gems is not installed")}},
        {"tables": {"flaggems": BackendTable(True, "flag_gems 5.0.3", GEMS.overloads, "5.0.3")}},
        {"tables": {"flaggems": BackendTable(True, "flag_gems 5.0.2", frozenset({"aten::bmm"}), "5.0.2")}},
    ],
    ids=["torch replaced", "file changed", "flag_gems removed", "flag_gems replaced", "kernels changed"],
)
def test_what_changed_is_read_anew(read, changed):
    """A kept file is not used where torch, the file or a table that it was checked against is another one."""
    read()

    assert read(**changed)[1]


def test_changed_code_is_read_anew(read, monkeypatch):
    """Checks that were changed are run again."""
    read()
    monkeypatch.setattr("flagos_runtime.config.cache._code_stamp", lambda: (1,))

    assert read()[1]


def test_tables_of_routes_with_a_second_backend_are_not_asked_for(read):
    """A file that no table was needed for is taken from the cache without reading any."""
    ops = "{prefer: [flaggems, vendor], routes: {aten::mm: {use: [flaggems, cpu]}}}"
    text = f"version: 1\nplatforms: {{sim: {{ops: {ops}}}}}\n"
    read(text=text)

    assert not read(tables={"flaggems": None})[1]


def test_damaged_cache_is_read_anew(read, tmp_path):
    """A file that was cut short is no reason to fail."""
    read()
    (kept,) = (tmp_path / "cache").rglob("*.json")
    kept.write_bytes(kept.read_bytes()[:100])

    assert read()[1]
