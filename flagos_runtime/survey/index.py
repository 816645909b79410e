"""Which entries of torch's operator database lead to which overloads, found once for each torch."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from flagos_runtime.errors import FlagosError
from flagos_runtime.survey.processes import START_S, Worker
from flagos_runtime.survey.result import CohortEntry


def index_of(
    cohort: CohortEntry, environment: Mapping[str, str], advance: Callable[[str], None]
) -> Mapping[str, tuple[str, ...]]:
    """Return the entries that lead to each overload: kept ones for this torch and harness, else found now.

    Raises:
        FlagosError: torch's operator database cannot be read.
    """
    place = _folder(environment) / f"{cohort['torch']}-{cohort['harness']}.json"
    with contextlib.suppress(OSError, ValueError):
        return {name: tuple(items) for name, items in json.loads(place.read_text(encoding="utf-8")).items()}
    found = _found(environment, advance)
    # an index that cannot be kept costs time and nothing else
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(place)
    return {name: tuple(items) for name, items in found.items()}


def _found(environment: Mapping[str, str], advance: Callable[[str], None]) -> dict[str, list[str]]:
    worker = Worker(environment)
    found: dict[str, list[str]] = {}
    try:
        for message in worker.ask({"entries": []}, START_S):
            for overload in message.get("reached", ()):
                found.setdefault(overload, []).append(message["entry"])
            if "entry" in message:
                advance(message["entry"])
            if message.get("exit"):
                raise FlagosError(f"torch's operator database cannot be used: {message['said']}")
    finally:
        worker.stop()
    return found


def _folder(environment: Mapping[str, str]) -> Path:
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "flagos" / "survey"
