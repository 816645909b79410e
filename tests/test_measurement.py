"""Declared capabilities beside measured ones."""

from __future__ import annotations

import pytest

from flagos_runtime.integration.deep.table import EXERCISES
from flagos_runtime.measurement import measured_rows, rows_after
from flagos_runtime.records import Capability


def declared(state):
    """Return one capability as a plugin declares it."""
    return Capability("fp64", state, "declared", "", "the handbook")


def measured(state):
    """Return the same capability as it was measured."""
    return Capability("fp64", state, "measured", "what was seen", "check --deep")


@pytest.mark.parametrize(
    ("before", "now", "detail", "severity"),
    [
        ("available", "available", "what was seen", None),
        ("available", "unavailable", "declared available, measured unavailable: what was seen", "error"),
        ("available", "unknown", "declared available, measured unknown: what was seen", None),
        ("unavailable", "available", "declared unavailable, measured available: what was seen", "warning"),
        ("unavailable", "unavailable", "what was seen", None),
        ("unknown", "unavailable", "what was seen", None),
    ],
)
def test_measured_beside_declared(before, now, detail, severity):
    """The measured state counts; where it is not what was declared, both are shown, and a false promise is an error."""
    rows, findings = measured_rows([declared(before)], [measured(now)])

    assert [(item.state, item.evidence, item.detail) for item in rows] == [(now, "measured", detail)]
    assert [item.severity for item in findings] == ([severity] if severity else [])


def test_finding_names_both_sides():
    """The finding says who declared what, and where to correct it."""
    (finding,) = measured_rows([declared("available")], [measured("unavailable")])[1]

    assert str(finding) == (
        "capability:fp64: error[FR305] declared available (the handbook), measured unavailable\n"
        "  hint: correct the declaration: `capabilities` of the platform in the route file, or 'fp64' in its plugin"
    )


def test_capability_without_an_exercise_stays_declared():
    """What nobody can try keeps its declaration, and what nobody declared gets a row."""
    other = Capability("fp8", "available", "declared")

    rows, findings = measured_rows([other], [measured("available")])

    assert [(item.name, item.evidence) for item in rows] == [("fp64", "measured"), ("fp8", "declared")]
    assert findings == ()


def test_nothing_is_measured_without_a_platform():
    """Without a platform every capability stays unknown, and says that it was not measured."""
    rows, findings = rows_after(lambda platform: [measured("available")], None, ())

    assert {(item.state, item.detail) for item in rows} == {("unknown", "not measured: there is no platform")}
    assert {item.name for item in rows} == {item.capability for item in EXERCISES}
    assert findings == ()


def test_declarations_stand_where_nobody_measures():
    """Without a measurement the rows are the declared ones."""
    assert rows_after(None, None, (declared("available"),)) == ((declared("available"),), ())
