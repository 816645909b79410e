"""What `explain` says of an overload: who decided, against whom, and what each backend lacks."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from flagos_runtime.explanation import explain_name
from flagos_runtime.plan import BackendChoice, OpDecision, Plan, RouteEvidence
from flagos_runtime.records import Status

UNTOLD = "a snapshot does not record which kernels torch has"
MM = OpDecision(
    "aten::mm",
    (BackendChoice("tileops", False, "tileops is not installed"), BackendChoice("flaggems", True, "flag_gems 5.0.2")),
    "routes.yaml:23:9",
    "its route",
    overruled=("routes.yaml:20:17", "routes.yaml:19:15"),
)


def lines(decision: OpDecision, name: str = "aten::mm") -> tuple[str, ...]:
    """Return what is said of *name* where *decision* is all that was decided."""
    return explain_name(name, Status("inactive", ""), Plan(None, operators=(decision,)), None).lines


@pytest.mark.parametrize("name", ["aten::mm", "aten::mm.default"])
def test_chain_of_a_decision(name):
    """The backend that serves stands first with who decided, then who was overruled, then every backend."""
    assert lines(MM, name) == (
        UNTOLD,
        "'flaggems' serves it: its route (routes.yaml:23:9)",
        "overruled: routes.yaml:20:17",
        "overruled: routes.yaml:19:15",
        "backend 'tileops' is unavailable: tileops is not installed",
        "backend 'flaggems' is available: flag_gems 5.0.2",
    )


def test_decision_without_a_backend():
    """Where nothing is available the kernel that is there stays, and that is said."""
    decision = OpDecision("aten::mm", MM.choices[:1], "FLAGOS_OP_mm", "FLAGOS_OP_mm names it")

    assert lines(decision)[1] == (
        "no backend can serve it, so the kernel that is there stays: FLAGOS_OP_mm names it (FLAGOS_OP_mm)"
    )


def test_guard_failure_and_evidence():
    """The conditions of a route are named, and its measurement with its age."""
    day = (date.today() - timedelta(days=40)).isoformat()
    decision = OpDecision(
        "aten::mm",
        MM.choices,
        "routes.yaml:23:9",
        "its route",
        on_failure="cpu",
        guard={"dtypes": ("float16", "bfloat16"), "min_numel": 65536},
        evidence=RouteEvidence("STRICT", 2.4, "MTT S5000", day),
    )

    assert lines(decision)[-3:] == (
        "guard: dtypes float16 or bfloat16, min_numel 65536; other calls take the kernel that was there before",
        "where the kernel does not exist or does not compile, the CPU takes over",
        f"measured: STRICT, 2.4 times as fast as the vendor's kernel, on MTT S5000, {day}, 40 days ago",
    )


def test_evidence_may_be_a_verdict_alone():
    """What was not recorded is not made up."""
    decision = OpDecision("aten::mm", MM.choices, "r:1", "its route", evidence=RouteEvidence("FAILED"))

    assert lines(decision)[-1] == "measured: FAILED"


def test_overload_that_nobody_names():
    """An overload without a decision says so."""
    assert lines(MM, "aten::bmm") == (UNTOLD, "no route, list or variable says anything about it")
