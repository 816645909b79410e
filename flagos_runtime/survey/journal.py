"""The cases that are done, written as they end, so that a survey which is interrupted goes on where it was."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.survey.result import CaseEntry, CohortEntry


class Journal:
    """One JSON object a line: the cohort, then each case, then each overload that is complete.

    Attributes:
        cases: what is done, by overload.
        complete: overloads of which every case is done.
    """

    def __init__(self, path: Path, cohort: CohortEntry, *, resume: bool) -> None:
        """Begin a journal, or go on with the one at *path*.

        Raises:
            ConfigError: the journal is another survey's, or there is one and *resume* is not set.
        """
        self.path = path
        self.cases: dict[str, list[CaseEntry]] = {}
        self.complete: set[str] = set()
        self._lock = threading.Lock()
        if path.exists():
            self._read(cohort, resume=resume)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"cohort": cohort})

    def add(self, overload: str, case: CaseEntry) -> None:
        """Note a case that is done."""
        with self._lock:
            self.cases.setdefault(overload, []).append(case)
            self._append({"overload": overload, "case": case})

    def end(self, overload: str) -> None:
        """Note that every case of *overload* is done."""
        with self._lock:
            self.cases.setdefault(overload, [])
            self.complete.add(overload)
            self._append({"complete": overload})

    def close(self) -> None:
        """Remove the journal: its result is written."""
        self.path.unlink()

    def _append(self, row: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")

    def _read(self, cohort: CohortEntry, *, resume: bool) -> None:
        if not resume:
            hint = "pass --resume to go on with it, or remove it"
            raise self._unusable("is of a survey that was interrupted", hint)
        header, *rows = self._rows()
        if header.get("cohort") != cohort:
            raise self._unusable("is of another survey: its cohort differs", "give the options that it was begun with")
        for row in rows:
            if "complete" in row:
                self.complete.add(row["complete"])
                self.cases.setdefault(row["complete"], [])
            else:
                self.cases.setdefault(row["overload"], []).append(row["case"])

    def _rows(self) -> list[dict[str, Any]]:
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the last line was being written
            self.path.write_text(whole, encoding="utf-8")
        try:
            return [json.loads(line) for line in whole.splitlines()] or [{}]
        except ValueError as error:
            raise self._unusable(f"cannot be read: {error}", "remove it") from error

    def _unusable(self, problem: str, hint: str) -> ConfigError:
        return ConfigError((Diagnostic("FR122", "error", str(self.path), problem, hint),))
