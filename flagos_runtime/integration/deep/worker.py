"""The child process: runs exercises one after another and writes one line for each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from flagos_runtime.integration.deep.exercise import NotServedError, Subject

if TYPE_CHECKING:
    from flagos_runtime.records import Platform

    Say = Callable[[dict[str, str]], None]


def serve(platform: Platform, functions: Iterable[str]) -> None:
    """Run *functions* (``module:function``) on the device of *platform*."""
    say = _own_output()
    subject = Subject(
        platform.device_type or "",
        dist_backend=platform.dist_backend or "",
        gems_vendor=platform.gems_vendor or "",
        in_host_memory=platform.kind == "sim",
    )
    say({"state": "ready", "detail": ""})
    for function in functions:
        say(_outcome(function, subject))


def _own_output() -> Say:
    """Return a writer to the parent that nothing else reaches: what kernels print goes to stderr from here on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(record: dict[str, str]) -> None:
        answers.write(json.dumps(record) + "\n")
        answers.flush()

    return say


def _outcome(function: str, subject: Subject) -> dict[str, str]:
    module, _, name = function.partition(":")
    try:
        exercise: Callable[[Subject], str] = getattr(import_module(module), name)
        return {"state": "available", "detail": exercise(subject)}
    except NotServedError as error:
        return {"state": "unavailable", "detail": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever goes wrong on a device is the measurement
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {"state": "unavailable", "detail": f"{type(error).__name__}: {lines[0] if lines else 'no message'}"}


__all__ = ["serve"]
