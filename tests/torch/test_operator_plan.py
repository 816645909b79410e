"""From routes and variables to the operators of a plan, on the device in host memory."""

from __future__ import annotations

import json

import pytest

ROUTES = """\
version: 1
platforms:
  sim:
    ops:
      prefer: [vendor, cpu]
      exclude: [aten::sort.stable]
      routes:
        aten::mm: vendor
        aten::sort.*: {use: [tileops, cpu], on_failure: cpu}
        aten::view: {use: [vendor]}
        aten::digamma: tileops
"""
SHOW = """
    import json
    from flagos_runtime.activation import preview
    from flagos_runtime.errors import ConfigError
    try:
        found = preview()
    except ConfigError as error:
        print(json.dumps([[item.code, item.where] for item in error.diagnostics]))
    else:
        op = next((item for item in found.plan.decisions if item.id == "op:routes"), None)
        print(json.dumps({
            "op": [op.state, op.reason, op.where],
            "served": {item.overload: [item.where, *item.backends] for item in found.plan.operators},
            "findings": [[item.severity, item.code, item.where] for item in found.findings],
        }))
"""


@pytest.fixture
def plan(tmp_path, run_python, expect_rc):
    """Return what a plan says of operators, with further variables."""
    path = tmp_path / "routes.yaml"
    path.write_text(ROUTES, encoding="utf-8")

    def make(**variables):
        env = {"FLAGOS_RUNTIME": "off", "FLAGOS_PLATFORM": "sim", "FLAGOS_ROUTES": str(path)}
        found = json.loads(expect_rc(run_python(SHOW, env={**env, "XDG_CACHE_HOME": str(tmp_path), **variables})))
        return json.loads(json.dumps(found).replace(f"{path}:", "line "))

    return make


def test_operators_of_a_plan(plan):
    """Every overload of the file is decided, the step counts those that need a kernel, and what lacks one is named."""
    assert plan() == {
        "op": ["planned", "3 overload(s): 3 cpu", "line 9:9"],
        "served": {
            "aten::mm": ["line 8:9", "vendor"],
            "aten::view": ["line 10:9", "vendor"],
            "aten::digamma": ["line 11:9"],
            "aten::sort.stable": ["line 6:17", "vendor"],
            "aten::sort": ["line 9:9", "cpu"],
            "aten::sort.values": ["line 9:9", "cpu"],
            "aten::sort.values_stable": ["line 9:9", "cpu"],
        },
        "findings": [["warning", "FR404", "line 11:9"]],
    }


def test_variables_reach_the_plan(plan):
    """A variable that names an overload decides it, and forcing the vendor's kernels undoes every other route."""
    found = plan(FLAGOS_OP_mm="cpu", FLAGOS_FORCE_BACKEND="vendor")

    assert found["op"] == ["planned", "1 overload(s): 1 cpu", "FLAGOS_OP_mm"]
    assert found["served"].pop("aten::mm") == ["FLAGOS_OP_mm", "cpu"]
    assert found["served"].pop("aten::sort.stable") == ["line 6:17", "vendor"]
    assert set(map(tuple, found["served"].values())) == {("FLAGOS_FORCE_BACKEND", "vendor")}


def test_wrong_variables_are_reported_together(plan):
    """Every variable that means nothing is named, and no plan is made."""
    found = plan(FLAGOS_OP_div="cpu", FLAGOS_OP_mm="flagems", FLAGOS_OP_xyzzy="cpu")

    assert sorted(found) == [["FR112", "FLAGOS_OP_div"], ["FR112", "FLAGOS_OP_xyzzy"], ["FR113", "FLAGOS_OP_mm"]]


def test_a_host_without_operator_routes_loads_nothing_for_them(run_python, expect_rc):
    """With the shipped routes neither decisions on operators nor kernel tables are loaded."""
    result = run_python(
        """
        import sys
        from flagos_runtime.activation import preview
        print(preview().plan.operators)
        print(sorted(name for name in sys.modules if name.startswith("flagos_runtime.") and "operator" in name))
        print("flagos_runtime.integration.routing.gems_table" in sys.modules)
        """,
        env={"FLAGOS_RUNTIME": "off", "FLAGOS_PLATFORM": "sim", "FLAGOS_ROUTES": ""},
    )

    assert expect_rc(result).splitlines() == ["()", "[]", "False"]
