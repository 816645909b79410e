"""The parent's side: child processes that run the exercises, and what becomes of one that hangs or crashes."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Final

from flagos_runtime.integration.deep.exercise import Exercise
from flagos_runtime.integration.deep.table import EXERCISES
from flagos_runtime.records import Capability, Platform, State

SOURCE: Final = "check --deep"

#: What a child runs; it activates what the environment names, as the parent did.
PROGRAM: Final = """
import sys, flagos_runtime
status = flagos_runtime.activate()
from flagos_runtime.integration.deep.worker import serve
serve(status.detection.platform, sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure.

    Attributes:
        exercises: what is tried.
        timeout_s: how long one exercise may take.
        start_timeout_s: how long a child may take to import torch and activate.
        program: what a child runs.
        environ: the environment of a child.
        announce: called with the name of each capability before it is tried.
    """

    exercises: tuple[Exercise, ...] = EXERCISES
    timeout_s: float = 30
    start_timeout_s: float = 60
    program: str = PROGRAM
    environ: Mapping[str, str] | None = None
    announce: Callable[[str], None] = lambda _: None


def measure(platform: Platform, settings: Settings) -> Iterator[Capability]:
    """Try each exercise on the device of *platform* and yield what was seen, in order."""
    reason = ""
    for batch in _batches(settings.exercises):
        waiting = list(batch)
        while waiting and not reason:
            with _Child(platform, waiting, settings) as child:
                reason = child.failure_to_start()
                yield from () if reason else _answers(child, waiting, settings)
        yield from (_capability(item, "unknown", f"could not be measured: {reason}") for item in waiting)


def _batches(exercises: Iterable[Exercise]) -> Iterator[tuple[Exercise, ...]]:
    """Group neighbours that may share a process."""
    for place, group in groupby(enumerate(exercises), key=lambda item: item[0] if item[1].alone else -1):
        members = tuple(exercise for _, exercise in group)
        yield members[:1] if place >= 0 else members


def _answers(child: _Child, waiting: list[Exercise], settings: Settings) -> Iterator[Capability]:
    """Take exercises off *waiting* as they are answered; the last one answered may have ended the child."""
    while waiting:
        exercise = waiting.pop(0)
        settings.announce(exercise.capability)
        limit_s = settings.timeout_s * exercise.patience
        answer = child.answer(limit_s)
        if answer is None:
            yield _capability(exercise, *child.end(limit_s))
            return
        yield _capability(exercise, "available" if answer["state"] == "available" else "unavailable", answer["detail"])


def _capability(exercise: Exercise, state: State, detail: str) -> Capability:
    return Capability(exercise.capability, state, "measured", detail, SOURCE)


class _Child:
    """One child process; leaving the block ends it and all that it started."""

    def __init__(self, platform: Platform, exercises: Iterable[Exercise], settings: Settings) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by __exit__
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._start_timeout_s = settings.start_timeout_s
        environ = os.environ if settings.environ is None else settings.environ
        self._process = subprocess.Popen(
            [sys.executable, "-c", settings.program, *(item.function for item in exercises)],
            env={**environ, "FLAGOS_RUNTIME": "on", "FLAGOS_PLATFORM": platform.name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._gone = False
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> _Child:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()
        # a process that waits inside a driver outlives the signal, and is then left alone
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
            self._reader.join()
            for stream in filter(None, (self._process.stdout, self._errors)):
                stream.close()

    def failure_to_start(self) -> str:
        """Wait for the child to be ready and return why it is not; empty where it is."""
        if self.answer(self._start_timeout_s) is not None:
            return ""
        _, detail = self.end(self._start_timeout_s)
        return f"the measuring process {detail}"

    def answer(self, timeout_s: float) -> dict[str, str] | None:
        """Return the next answer, ``None`` where there is none in time or the child is gone."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self._gone = not line.endswith("\n")  # the end of the stream, or a line that the child's death cut short
        return None if self._gone else dict(json.loads(line))

    def end(self, timeout_s: float) -> tuple[State, str]:
        """End the child after a missing answer, and say what that means for the exercise."""
        if not self._gone:
            return "unknown", f"gave no answer within {timeout_s:g} s"
        status = self._process.wait()
        how = f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
        return "unavailable", ": ".join(filter(None, (how, self._last_error())))

    def _last_error(self) -> str:
        self._errors.seek(0)
        return next((line.strip() for line in reversed(self._errors.readlines()) if line.strip()), "")

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put("")

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
