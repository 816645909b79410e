"""Operators in the environment: how an overload is spelt, and what is said of a spelling that means nothing."""

from __future__ import annotations

import pytest

from flagos_runtime.config.environment import read_environment
from flagos_runtime.config.overloads import installed_overloads
from flagos_runtime.config.overrides import named_operators

OVERLOADS = frozenset(
    {
        "aten::__or__.Scalar",
        "aten::_foo",
        "aten::add.Tensor",
        "aten::add_.Tensor",
        "aten::div.Scalar",
        "aten::div.Tensor",
        "aten::mm",
        "aten::mm.out",
        "aten::relu_",
        "aten::sum.dim_IntList",
    }
)
BACKENDS = frozenset({"vendor", "cpu", "none", "flaggems"})


def named(overloads=OVERLOADS, **variables):
    """Return what the variables ``FLAGOS_OP_<name>`` say."""
    environment = read_environment({f"FLAGOS_OP_{name}": value for name, value in variables.items()})
    return tuple(named_operators(environment, lambda: overloads, BACKENDS))


@pytest.mark.parametrize(
    ("name", "overload"),
    [
        ("mm", "aten::mm"),
        ("mm__default", "aten::mm"),
        ("mm__out", "aten::mm.out"),
        ("sum__dim_IntList", "aten::sum.dim_IntList"),
        ("sum.dim_IntList", "aten::sum.dim_IntList"),
        ("add__Tensor", "aten::add.Tensor"),
        ("add___Tensor", "aten::add_.Tensor"),
        ("relu_", "aten::relu_"),
        ("_foo", "aten::_foo"),
        ("__or____Scalar", "aten::__or__.Scalar"),
    ],
)
def test_spelling_of_an_overload(name, overload):
    """Two underscores stand for the dot, whatever underscores the name has itself."""
    (found,) = named(**{name: "cpu"})

    assert (found.overload, found.variable, found.use) == (overload, f"FLAGOS_OP_{name}", ("cpu",))
    assert found.findings == ()


def test_every_installed_overload_has_a_spelling_of_its_own():
    """No two overloads of the installed torch are spelt alike."""
    overloads = installed_overloads()
    if overloads is None:
        pytest.skip("torch is not installed")
    names = {name.removeprefix("aten::").replace(".", "__"): name for name in overloads}
    found = named(overloads, **dict.fromkeys(names, "cpu"))

    assert [item for item in found if item.findings or item.overload != names[item.variable[len("FLAGOS_OP_") :]]] == []


def test_value_is_a_list_of_backends():
    """Several backends stand in order of preference, and one that is named twice counts once."""
    assert named(mm=" flaggems, vendor,flaggems,")[0].use == ("flaggems", "vendor")


@pytest.mark.parametrize("value", ["", "  ", " , "])
def test_empty_variable_says_nothing(value):
    """An empty variable counts as unset."""
    assert named(mm=value) == ()


@pytest.mark.parametrize(
    ("name", "value", "code", "message", "hint"),
    [
        (
            "sum__dim_IntLst",
            "cpu",
            "FR112",
            "the installed torch has no overload that is spelt 'sum__dim_IntLst' here",
            "did you mean 'FLAGOS_OP_sum__dim_IntList'?",
        ),
        (
            "div",
            "cpu",
            "FR112",
            "'div' is not an overload but the name of 2",
            "name one, as in 'FLAGOS_OP_div__Scalar' or 'FLAGOS_OP_div__Tensor'",
        ),
        ("xyzzy", "cpu", "FR112", "the installed torch has no overload that is spelt 'xyzzy' here", "write for"),
        ("mm", "flagems", "FR113", "no backend is called 'flagems'", "did you mean 'flaggems'?"),
        (
            "mm",
            "none,cpu",
            "FR115",
            "'none' refuses every call, so no other backend can stand beside it",
            "write 'none'",
        ),
    ],
    ids=["misspelt", "operator", "unknown", "backend", "none and another"],
)
def test_variable_that_means_nothing_is_an_error(name, value, code, message, hint):
    """It names the variable, and offers the nearest spelling."""
    (finding,) = named(**{name: value})[0].findings

    assert (finding.code, finding.severity, finding.where) == (code, "error", f"FLAGOS_OP_{name}")
    assert finding.message == message
    assert finding.hint.startswith(hint)


def test_two_spellings_of_one_overload_contradict():
    """Which of two variables holds must not depend on the order of the environment."""
    findings = [finding for item in named(mm="cpu", mm__default="vendor") for finding in item.findings]

    assert [(item.code, item.message) for item in findings] == [("FR115", "FLAGOS_OP_mm names 'aten::mm' as well")]


def test_without_torch_a_variable_says_nothing():
    """Where torch's overloads are not known that is a note, and no overload is guessed."""
    (found,) = named(None, mm="cpu")

    assert found.overload == ""
    assert [(item.code, item.severity) for item in found.findings] == [("FR112", "note")]


def test_overloads_are_not_asked_for_without_a_variable():
    """Most processes name no operator and pay nothing."""
    environment = read_environment({})

    assert tuple(named_operators(environment, lambda: pytest.fail("asked"), BACKENDS)) == ()
