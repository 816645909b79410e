"""Whatever stands in a file, the loader answers with routes or with findings, never with a traceback."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from flagos_runtime.config.loader import LENIENT, bundled_routes
from flagos_runtime.config.semantics import contradictions
from flagos_runtime.config.shape import validate
from flagos_runtime.config.source import parse_document

SHIPPED = bundled_routes().read_text(encoding="utf-8")
#: Pieces that mean something to YAML or to the models.
WORDS = (
    *("version", "platforms", "sim", "cuda", "probes", "aliases", "ops", "routes", "use", "guard", "evidence", "date"),
    *("extends", "when", "aten::mm", "aten::*", "none", "cpu", "on", "1", "2.10", "012", "2026-13-01", "~", "<<", ""),
    *("&a", "*a", "!!int", "!x", "- ", ": ", "? ", "{", "}", "[", "]", ",", "|", ">", "'", '"', "#", "---", "%YAML"),
    *("\n", "\n  ", "\n    ", "\t", "\r", "\x00", "\u2028", "\\UFFFFFFFF", '"\\ud800"', "\ud7ff", "9" * 5000),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS)
KEYS = st.sampled_from([word for word in WORDS if word.isidentifier()])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner), max_leaves=15)
QUICK = settings(max_examples=150, deadline=None)


def findings_of(data, known):
    document, findings = parse_document(data, "routes.yaml", lenient=LENIENT)
    if document is None:
        return findings
    _, misshapen = validate(document)
    return (*findings, *misshapen, *contradictions(document, known))


def assert_printable(findings):
    for finding in findings:
        str(finding).encode("utf-8")
        assert finding.where.startswith("routes.yaml")


@QUICK
@given(data=st.binary())
@example(data=b"\xff\xfea\x00")
def test_any_bytes(known, data):
    """Bytes that are no text at all are a finding."""
    assert_printable(findings_of(data, known))


@QUICK
@given(words=st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_order_of_tokens(known, words):
    """Tokens in an order that makes no sense are a finding or a value."""
    assert_printable(findings_of("".join(words).encode("utf-8"), known))


@QUICK
@given(start=st.integers(0, len(SHIPPED)), length=st.integers(0, 40), word=st.sampled_from(WORDS))
def test_any_damage_to_the_shipped_file(known, start, length, word):
    """A cut and a pasted word leave a file that gets an answer."""
    text = SHIPPED[:start] + word + SHIPPED[start + length :]

    assert_printable(findings_of(text.encode("utf-8"), known))


@QUICK
@given(platforms=VALUES, ops=VALUES)
def test_any_values_in_the_right_places(known, platforms, ops):
    """Values of every shape below the right keys are judged by all stages."""
    # JSON is YAML where it writes no more than its own escapes
    text = _flow({"version": 1, "platforms": {"sim": {"ops": ops, "aliases": [platforms]}, "cuda": platforms}})

    assert_printable(findings_of(text.encode("utf-8"), known))


def _flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {_flow(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return f"'{value}'" if isinstance(value, str) and value.isprintable() and "'" not in value else str(value).strip()
