"""The source reader: plain values, their places, and what is refused before any model sees it."""

from __future__ import annotations

import pytest

from flagos_runtime.config.excerpt import Mark, shown
from flagos_runtime.config.source import LARGEST, parse_document, read_document

LENIENT = frozenset({("evidence", "date"), ("evidence", "speedup")})


def parsed(text, lenient=LENIENT):
    data = text if isinstance(text, bytes) else text.encode()
    return parse_document(data, "routes.yaml", lenient=lenient)


def codes(findings):
    return [item.code for item in findings]


# -- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("word", "word"),
        ("'2.10'", "2.10"),
        ("'no'", "no"),
        ('"012"', "012"),
        ("true", True),
        ("False", False),
        ("1", 1),
        ("-3", -3),
        ("0", 0),
        ("2.4", 2.4),
        ("aten::mm", "aten::mm"),
        ("1e3", "1e3"),
        ("", None),
        ("null", None),
        ("[a, 1]", ("a", 1)),
        ("{b: [c]}", {"b": ("c",)}),
    ],
)
def test_value_is_what_was_written(text, value):
    """A scalar that everybody reads alike is taken, and sequences become tuples."""
    document, findings = parsed(f"key: {text}\n")

    assert findings == ()
    assert document.value == {"key": value}


def test_places_count_from_one():
    """Keys and values know their line and column, in block and flow style."""
    document, _ = parsed("a: 1\nb:\n  - {c: x}\n")

    assert document.keys[("b",)] == Mark(2, 1)
    assert document.places[("b", 0, "c")] == Mark(3, 9)
    assert document.where(("b", 0, "c")) == "routes.yaml:3:9"


def test_place_of_what_is_not_there_is_the_nearest_one():
    """A missing key is shown where the mapping that lacks it begins."""
    document, _ = parsed("a:\n  - {c: x}\n")

    assert document.mark(("a", 0, "missing", "deeper")) == Mark(2, 5)


@pytest.mark.parametrize("text", ["a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "\ufeffa: 1\nb: 2"], ids=["crlf", "cr", "bom"])
def test_line_ends_and_bom_of_other_systems(text):
    """Files that were saved elsewhere keep right places."""
    document, findings = parsed(text)

    assert findings == ()
    assert document.keys[("b",)] == Mark(2, 1)
    assert document.keys[("a",)] == Mark(1, 1)


@pytest.mark.parametrize("text", ["2026-12-01", "'2026-12-01'"])
def test_date_of_evidence_may_be_plain(text):
    """Where a date is meant, YAML's reading of it does no harm."""
    document, findings = parsed(f"evidence: {{date: {text}, speedup: 2.40}}\n")

    assert findings == ()
    assert document.value["evidence"] == {"date": "2026-12-01", "speedup": 2.4}


# -- what is refused ------------------------------------------------------------------------------------------------

TRAPS = {
    "2.10": "the number 2.1",
    "on": "the boolean true",
    "NO": "the boolean false",
    "012": "the number 10",
    "1_000": "the number 1000",
    "0x1F": "the number 31",
    "0b11": "the number 3",
    "+5": "the number 5",
    "1:30:45": "the number 5445",
    "1_0.5": "the number 10.5",
    ".5": "the number 0.5",
    "1.5e+3": "the number 1500.0",
    ".nan": "a number",
    "-.inf": "a number",
    "0b_": "a number",
    "9" * 5000: "a number",
    "2026-12-01": "a date",
    "2026-13-45": "a date",
    "2001-12-14t21:59:43.10-05:00": "a date",
}


@pytest.mark.parametrize(("text", "reading"), TRAPS.items(), ids=[text[:30] for text in TRAPS])
def test_trap_of_yaml_is_refused_with_its_reading(text, reading):
    """A plain scalar that YAML 1.1 reads otherwise than it looks gets FR106, the reading and the cure."""
    document, (finding,) = parsed(f"key: {text}\n")

    assert finding.code == "FR106"
    assert reading in finding.message
    assert finding.hint.startswith(f"quote it: '{text}'")
    assert document.is_flagged(("key",))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"a: \xff\xfe\n", "FR101"),
        ("a: \x07\n", "FR101"),
        ("", "FR101"),
        ("---\n...\n", "FR104"),
        ("just text\n", "FR104"),
        ("[1]\n", "FR104"),
        ("a: [\n", "FR101"),
        ("a: 1\n---\nb: 1\n", "FR101"),
        ("a: *b\n", "FR101"),
        ("a: &b 1\n", "FR107"),
        ("[" * 100_000, "FR107"),
        ('a: "\\UFFFFFFFF"\n', "FR101"),
        ("%YAML 3.0\n---\na: 1\n", "FR101"),
        ("a: !u!x 1\n", "FR101"),
    ],
)
def test_unusable_text_gives_no_document(text, code):
    """What cannot be read further has one finding and no values."""
    document, findings = parsed(text)

    assert document is None
    assert codes(findings) == [code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: 1\na: 2\n", "FR102"),
        ("<<: {a: 1}\n", "FR103"),
        ("? [a]\n: 1\n", "FR104"),
        ("'': 1\n", "FR104"),
        ("a: !!binary aGk=\n", "FR104"),
        ("a: !!str 1\n", "FR104"),
        ("a: !!int x\n", "FR104"),
        ("a: !!set {b}\n", "FR104"),
        ('a: "\\ud800"\n', "FR101"),
        ("yes: 1\n", "FR106"),
    ],
)
def test_refused_part_leaves_the_rest_readable(text, code):
    """One refused key or value does not hide the rest of the file."""
    document, findings = parsed(f"{text}other: 1\n")

    assert codes(findings) == [code]
    assert document.value["other"] == 1


def test_every_finding_is_reported():
    """Reading does not stop at the first mistake."""
    _, findings = parsed("a: on\nb: 012\na: 1\n")

    assert codes(findings) == ["FR106", "FR106", "FR102"]


def test_repeated_key_names_both_lines():
    """A duplicate says where both of them are; the first one counts."""
    document, (finding,) = parsed("a: 1\nb: 2\na: 3\n")

    assert "line 1 and again on line 3" in finding.message
    assert finding.where == "routes.yaml:3:1"
    assert document.value["a"] == 1


def test_nesting_limit_is_twenty():
    """Twenty levels are read, one more is not."""
    fine, _ = parsed("a: " + "[" * 19 + "]" * 19)
    deep, findings = parsed("a: " + "[" * 20 + "]" * 20)

    assert fine is not None
    assert (deep, codes(findings)) == (None, ["FR107"])


@pytest.mark.parametrize("size", [LARGEST + 1, 10_000_000])
def test_large_file_is_refused_unread(tmp_path, size):
    """A file of 10 MB costs no time: only the first part of it is looked at."""
    path = tmp_path / "routes.yaml"
    path.write_bytes(b"#" * size)

    document, findings = read_document(path)

    assert (document, codes(findings)) == (None, ["FR107"])
    assert findings[0].where == str(path)


@pytest.mark.parametrize("name", ["missing.yaml", "."], ids=["missing", "directory"])
def test_unreadable_file_is_a_finding(tmp_path, name):
    """No file at the path, or a directory, is FR100 with the reason."""
    document, (finding,) = read_document(tmp_path / name)

    assert (document, finding.code) == (None, "FR100")
    assert "no such file" in finding.message or "is a directory" in finding.message


def test_excerpt_shows_line_and_caret():
    """The source line has its number, and the caret stands below the column."""
    _, (finding,) = parsed("key:   on\n")

    assert finding.excerpt == "    1 | key:   on\n      |        ^"


def test_long_line_is_shown_in_part():
    """A line of thousands of characters does not flood the terminal, and the caret still points at the place."""
    _, (finding,) = parsed(f"{{other: [{'a, ' * 500}], key: on, last: {'b' * 500}}}\n")

    line, caret = finding.excerpt.splitlines()

    assert len(line) < 120
    assert line[caret.index("^") :].startswith("on, last")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\x1b[31m", r"'a\x1b[31m'"), ("a\u202eb", r"'a\u202eb'"), ("x" * 80, f"'{'x' * 60}...'"), ("größe", "'größe'")],
)
def test_shown_values_are_safe_to_print(text, expected):
    """Control characters of a file never reach the terminal, and long values are cut."""
    assert shown(text) == expected
