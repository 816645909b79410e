"""Timings of two programs taken alternately, so that the machine's mood falls on both."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping

#: The figures of one program, a row for each round.
Rows = list[dict[str, float]]


def alternate(code: str, environments: Mapping[str, Mapping[str, str]], rounds: int) -> dict[str, Rows]:
    """Run *code* in a fresh interpreter for each environment in turn, *rounds* times; each prints one JSON object."""
    found: dict[str, Rows] = {name: [] for name in environments}
    for _ in range(rounds):
        for name, extra in environments.items():
            found[name].append(_run(code, extra))
    return found


def _run(code: str, extra: Mapping[str, str]) -> dict[str, float]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("FLAGOS_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **extra}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def median(rows: Rows, key: str) -> float:
    """Return the median of one figure over all rounds."""
    return statistics.median(row[key] for row in rows)
