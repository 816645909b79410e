"""What serves an overload: who decides, which backend is available, and what is said where none is."""

from __future__ import annotations

import pytest

from flagos_runtime.config.traits import Traits
from flagos_runtime.operators import Installed, OpOverrides, counted, needs_kernel, resolve_operators
from flagos_runtime.plan import BackendChoice, OpDecision, OpExclusion, OpRoute, PlatformRoutes, RouteEvidence
from flagos_runtime.records import BackendTable

TORCH = frozenset(
    f"aten::{name}"
    for name in ("add.Tensor", "add_.Tensor", "cumsum", "mm", "rand", "sort", "sort.stable", "uniform_", "view")
)
GEMS = frozenset({"aten::add.Tensor", "aten::mm", "aten::sort", "aten::sort.stable", "aten::gone"})
TABLES = {
    "vendor": BackendTable(True, "the kernel that the device has"),
    "cpu": BackendTable(True, "the CPU kernel"),
    "none": BackendTable(True, "no kernel"),
    "flaggems": BackendTable(True, "flag_gems 5.0.2", GEMS, "5.0.2"),
    "acme": BackendTable(True, "acme 1", frozenset({"aten::cumsum"}), "1"),
    "tileops": BackendTable(False, "tileops is not installed"),
}
TRAITS = {
    "aten::add_.Tensor": Traits(mutates=True),
    "aten::rand": Traits(factory=True, random=True),
    "aten::uniform_": Traits(mutates=True, random=True),
    "aten::view": Traits(view=True),
}
INSTALLED = Installed(lambda: TORCH, TABLES.__getitem__, lambda: TRAITS.get)

MM = OpRoute("aten::mm.default", ("cpu",), "exact")
ALL_MM = OpRoute("aten::mm.*", ("acme", "vendor"), "glob")
NOT_MM = OpExclusion("aten::mm", "excluded")
PREFER = {"ops_prefer": ("flaggems", "vendor"), "ops_prefer_where": "prefer"}
FORCED = OpOverrides("flaggems")
NAMED = OpOverrides("", {"aten::mm": ("FLAGOS_OP_mm", ("none",))})
BOTH = OpOverrides("flaggems", NAMED.named)


def resolved(*ops, exclude=(), overrides=None, installed=INSTALLED, **fields):
    """Resolve routes *ops* with exclusions and variables."""
    routes = PlatformRoutes("sim", ops=ops, ops_exclude=exclude, **fields)
    return resolve_operators(routes, installed, overrides)


def decision_on(overload, *args, **fields):
    """Return the decision on *overload*, ``None`` where nobody says anything about it."""
    return next((item for item in resolved(*args, **fields).decisions if item.overload == overload), None)


# -- who decides ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ops", "exclude", "prefer", "overrides", "where", "overruled", "backend"),
    [
        ((), (), False, None, None, (), None),
        ((), (), True, None, "prefer", (), "flaggems"),
        ((ALL_MM,), (), True, None, "glob", ("prefer",), "vendor"),
        ((ALL_MM,), (NOT_MM,), True, None, "excluded", ("glob", "prefer"), "vendor"),
        ((), (NOT_MM,), True, None, "excluded", ("prefer",), "vendor"),
        ((), (NOT_MM,), False, None, "excluded", (), "vendor"),
        ((MM, ALL_MM), (NOT_MM,), True, None, "exact", ("excluded", "glob", "prefer"), "cpu"),
        ((MM,), (), True, FORCED, "FLAGOS_FORCE_BACKEND", ("exact", "prefer"), "flaggems"),
        ((), (), False, FORCED, "FLAGOS_FORCE_BACKEND", (), "flaggems"),
        ((), (NOT_MM,), True, FORCED, "excluded", ("FLAGOS_FORCE_BACKEND", "prefer"), "vendor"),
        ((MM,), (NOT_MM,), False, FORCED, "exact", ("excluded", "FLAGOS_FORCE_BACKEND"), "cpu"),
        ((MM,), (), False, OpOverrides("vendor"), "FLAGOS_FORCE_BACKEND", ("exact",), "vendor"),
        ((), (), False, OpOverrides("vendor"), None, (), None),
        ((MM,), (), True, BOTH, "FLAGOS_OP_mm", ("FLAGOS_FORCE_BACKEND", "exact", "prefer"), "none"),
        ((), (NOT_MM,), False, NAMED, "FLAGOS_OP_mm", ("excluded",), "none"),
    ],
    ids=[
        "nobody",
        "prefer",
        "glob over prefer",
        "exclusion over glob",
        "exclusion over prefer",
        "exclusion alone",
        "exact over exclusion",
        "force over exact",
        "force alone",
        "exclusion over force",
        "exact where force is excluded",
        "forced vendor",
        "forced vendor says nothing of its own",
        "variable over everything",
        "variable over exclusion",
    ],
)
def test_the_strongest_claim_decides(ops, exclude, prefer, overrides, where, overruled, backend):
    """The strongest place decides, and the others are named in order of strength."""
    found = decision_on("aten::mm", *ops, exclude=exclude, overrides=overrides, **(PREFER if prefer else {}))

    assert (found.where if found else None) == where
    assert (found.overruled if found else ()) == overruled
    assert (found.backends[0] if found else None) == backend


def test_prefer_speaks_for_what_its_tables_name():
    """A preferred backend decides the overloads that it has kernels of and that torch has, and no others."""
    found = resolved(**PREFER).decisions

    assert {item.overload for item in found} == GEMS - {"aten::gone"}


@pytest.mark.parametrize("order", [("vendor", "flaggems"), ("cpu",), ("tileops", "vendor", "flaggems")])
def test_prefer_says_nothing_behind_a_backend_that_serves_everything(order):
    """What comes after the device's own kernels would never be taken, so nothing is decided."""
    assert resolved(ops_prefer=order).decisions == ()


def test_tables_of_several_preferred_backends_count():
    """An overload that the second backend alone has is served by that one."""
    found = decision_on("aten::cumsum", ops_prefer=("flaggems", "acme", "vendor"))

    assert found.backends == ("acme", "vendor")


def test_a_pattern_stands_for_every_overload_of_the_operator():
    """`aten::sort.*` is a decision for each overload that the installed torch has."""
    found = resolved(OpRoute("aten::sort.*", ("flaggems",), "glob")).decisions

    assert [item.overload for item in found] == ["aten::sort", "aten::sort.stable"]


def test_a_pattern_is_nothing_without_torch():
    """Where torch's overloads are not known a pattern decides nothing, and an exact route does."""
    installed = INSTALLED._replace(overloads=lambda: None)
    found = resolved(MM, OpRoute("aten::sort.*", ("cpu",), "glob"), installed=installed).decisions

    assert [item.overload for item in found] == ["aten::mm"]


def test_no_table_is_read_for_routes_that_name_no_such_backend():
    """A route to the device's own kernel costs no look at FlagGems."""
    read = []
    tables = Installed(lambda: TORCH, lambda name: read.append(name) or TABLES[name], lambda: TRAITS.get)
    resolved(MM, installed=tables)

    assert set(read) <= {"cpu", "vendor"}


# -- what serves ----------------------------------------------------------------------------------------------------


def test_first_available_backend_wins_and_the_others_stay_with_their_reason():
    """Every backend is listed in order with what was found."""
    found = decision_on("aten::cumsum", OpRoute("aten::cumsum", ("tileops", "flaggems", "acme", "cpu"), "here"))

    assert found.choices == (
        BackendChoice("tileops", False, "tileops is not installed"),
        BackendChoice("flaggems", False, "flag_gems 5.0.2 has no kernel of it"),
        BackendChoice("acme", True, "acme 1 has a kernel of it"),
        BackendChoice("cpu", True, "the CPU kernel"),
    )
    assert found.backends == ("acme", "cpu")


def test_guard_and_evidence_come_from_the_route_that_decides():
    """What was said by a route that lost does not leak into the decision."""
    evidence = RouteEvidence("STRICT", 2.4, "MTT S5000", "2026-12-01")
    route = OpRoute("aten::mm", ("flaggems",), "exact", "next", {"min_numel": 4}, evidence)
    won, lost = decision_on("aten::mm", route), decision_on("aten::mm", route, overrides=NAMED)

    assert (won.guard, won.evidence, won.on_failure) == ({"min_numel": 4}, evidence, "next")
    assert (lost.guard, lost.evidence, lost.on_failure) == ({}, None, "raise")


@pytest.mark.parametrize(
    ("overload", "reason"),
    [
        ("aten::view", "its result shares memory"),
        ("aten::rand", "it makes tensors"),
        ("aten::uniform_", "it draws from"),
    ],
)
def test_cpu_is_refused_where_copies_would_be_wrong(overload, reason):
    """Views, factories and random operators are never served by copies on the host, whoever asks."""
    overrides = OpOverrides("", {overload: ("FLAGOS_OP_x", ("cpu", "vendor"))})
    found = decision_on(overload, overrides=overrides)

    assert found.backends == ("vendor",)
    assert found.choices[0].reason.startswith(reason)


@pytest.mark.parametrize(
    ("overload", "on_failure"), [("aten::mm", "cpu"), ("aten::add_.Tensor", "raise"), ("aten::view", "raise")]
)
def test_nothing_takes_over_where_a_failure_may_have_left_traces(overload, on_failure):
    """`on_failure` of a pattern holds for the overloads that can be tried again only."""
    packet = overload.partition(".")[0]
    found = decision_on(overload, OpRoute(f"{packet}.*", ("vendor",), "glob", "cpu"))

    assert found.on_failure == on_failure


# -- what nobody serves ---------------------------------------------------------------------------------------------


def test_routes_without_an_available_backend_are_reported_once():
    """One warning for all that share the reason names the first place, the count and what is missing."""
    routes = [OpRoute(name, ("tileops",), f"routes.yaml:{line}:9") for line, name in enumerate(sorted(TORCH), 5)]
    found = resolved(*routes)

    (warning,) = found.diagnostics
    assert (warning.code, warning.severity, warning.where) == ("FR404", "warning", "routes.yaml:5:9")
    assert warning.message == (
        "aten::add.Tensor and 8 more keep the kernel that is there, since no backend is available: "
        "'tileops': tileops is not installed"
    )
    assert all(item.backends == () for item in found.decisions)


def test_an_unserved_overload_of_a_pattern_is_a_note():
    """A pattern may reach overloads that its backend does not have; that is no mistake."""
    (note,) = resolved(OpRoute("aten::cumsum.*", ("flaggems",), "here")).diagnostics

    assert (note.code, note.severity) == ("FR404", "note")


def test_forcing_an_absent_backend_is_a_warning_and_changes_nothing():
    """The variable is said to have no effect, and the routes hold."""
    found = resolved(MM, overrides=OpOverrides("tileops"))

    (warning,) = found.diagnostics
    assert (warning.severity, warning.where) == ("warning", "FLAGOS_FORCE_BACKEND")
    assert [item.where for item in found.decisions] == ["exact"]


def test_preferring_an_absent_backend_is_a_note():
    """A preference is no demand."""
    found = resolved(ops_prefer=("tileops", "vendor"), ops_prefer_where="routes.yaml:5:15")

    (note,) = found.diagnostics
    assert (note.severity, note.where) == ("note", "routes.yaml:5:15")
    assert "tileops is not installed" in note.message


# -- which need a kernel --------------------------------------------------------------------------------------------


def decision_for(*backends: str, on_failure="raise") -> OpDecision:
    """Return a decision whose available backends are *backends*."""
    choices = tuple(BackendChoice(name, True, "") for name in backends)
    return OpDecision("aten::mm", choices, "here", "said", on_failure=on_failure)


@pytest.mark.parametrize(
    ("decision", "needs"),
    [
        (decision_for(), False),
        (decision_for("vendor"), False),
        (decision_for("vendor", "cpu"), False),
        (decision_for("vendor", "cpu", on_failure="next"), True),
        (decision_for("vendor", on_failure="next"), False),
        (decision_for("vendor", on_failure="cpu"), True),
        (decision_for("none"), True),
        (decision_for("flaggems", "vendor"), True),
    ],
    ids=lambda value: "/".join((*value.backends, value.on_failure)) if isinstance(value, OpDecision) else str(value),
)
def test_a_kernel_is_needed_where_calls_may_leave_the_one_that_is_there(decision, needs):
    """What ends at the device's own kernel in any case needs no registration."""
    assert needs_kernel(decision) is needs


def test_counts_are_by_the_backend_that_serves():
    """Where no backend is available the kernel that is there serves."""
    found = counted([decision_for("cpu"), decision_for("flaggems", "cpu"), decision_for("flaggems"), decision_for()])

    assert list(found.items()) == [("flaggems", 2), ("cpu", 1), ("vendor", 1)]
