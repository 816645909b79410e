"""Overload names without importing torch, compared with what the live torch says in a child."""

from __future__ import annotations

import json

import pytest

from flagos_runtime.config import overloads
from flagos_runtime.config.overloads import installed_overloads

LIVE = """
    import json, torch
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    schemas = {
        schema.name + ("." + schema.overload_name if schema.overload_name else "")
        for schema in torch._C._jit_get_all_schemas()
    }
    keys = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    has_kernel = [
        name for name in names if any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)
    ]
    print(json.dumps({"all": names, "usable": [name for name in has_kernel if name in schemas]}))
"""


@pytest.fixture(scope="module")
def found():
    """Return the names, once."""
    names = installed_overloads()
    if names is None:
        pytest.skip("torch is not installed")
    return names


@pytest.fixture
def live(run_python, expect_rc):
    """Return what the dispatcher of the installed torch knows."""
    return json.loads(expect_rc(run_python(LIVE, env={"FLAGOS_RUNTIME": "off", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})))


def test_nothing_that_can_run_is_missing(found, live):
    """Every overload with a public schema and a kernel may be routed."""
    assert set(live["usable"]) - found == set()
    assert len(live["usable"]) > 2000


def test_no_name_is_made_up(found, live):
    """A route that passes the check names an overload that the dispatcher has."""
    assert found - set(live["all"]) == set()


@pytest.mark.parametrize("name", ["aten::mm", "aten::var.correction", "aten::sort.stable", "aten::add.Tensor"])
def test_well_known_overloads_are_found(found, name):
    """The names have the dispatcher's spelling; the overload without a name has no dot."""
    assert name in found


@pytest.mark.parametrize("name", ["aten::div", "aten::mm.default", "aten::var_correction"])
def test_other_spellings_are_not(found, name):
    """A packet, torch.ops' spelling and a function's name are no overloads."""
    assert name not in found


@pytest.mark.parametrize("spec", [None, type("Spec", (), {"submodule_search_locations": ["/nowhere"]})()])
def test_without_torch_there_are_no_names(monkeypatch, spec):
    """An absent torch, or one without its packaged declarations, is a third answer: unknown."""
    monkeypatch.setattr(overloads, "find_spec", lambda _: spec)

    assert installed_overloads() is None


def test_reading_imports_nothing(run_python, expect_rc):
    """Neither torch nor torchgen is loaded."""
    result = run_python(
        """
        import sys
        from flagos_runtime.config.overloads import installed_overloads
        installed_overloads()
        print(sorted({"torch", "torchgen", "yaml"} & set(sys.modules)))
        """,
        env={"FLAGOS_RUNTIME": "off"},
    )

    assert expect_rc(result).strip() == "[]"
