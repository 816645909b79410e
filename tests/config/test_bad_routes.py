"""Route files with mistakes: the whole text that a user gets. `make golden` rewrites the texts; review the diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flagos_runtime.config.loader import load_routes
from flagos_runtime.errors import ConfigError

FOLDER = Path(__file__).parent / "bad_routes"
FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_file_gets_the_expected_text(path, known, monkeypatch):
    """Each mistake is reported with its place, the source line and what to do."""
    monkeypatch.chdir(FOLDER)
    golden = path.with_suffix(".txt")

    with pytest.raises(ConfigError) as caught:
        load_routes(Path(path.name), known)

    text = "".join(f"{item}\n" for item in caught.value.diagnostics)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "run make golden and review the diff"


def test_every_expected_text_belongs_to_a_file():
    """No golden text is left over from a file that is gone."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FILES}
