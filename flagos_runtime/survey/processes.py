"""Worker processes as a survey sees them: a request, then messages until it is answered, or until time is up."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, TextIO, cast

#: A worker that starts imports torch and maybe a compiler; this bounds no case.
START_S: Final = 300.0

Message = Mapping[str, Any]


class Worker:
    """One worker process, started when it is first asked and again after it has died."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**environment, "OMP_NUM_THREADS": "1"}
        self._process: subprocess.Popen[str] | None = None
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self._errors: IO[bytes] | None = None

    def ask(self, request: Mapping[str, Any], timeout_s: float) -> Iterator[Message]:
        """Yield what the worker says, at last ``{"exit": code}``.

        Where it says nothing for *timeout_s* after it has begun a case, what runs is killed, and the last message says
        ``timed_out``. A worker that dies gives ``{"exit": -9}`` with the last line of its standard error as ``said``.
        """
        self._send(request)
        running, limit = None, START_S
        while True:
            try:
                message = self._messages.get(timeout=limit)
            except queue.Empty:
                self._kill(running)
                yield {"exit": -signal.SIGKILL, "timed_out": True}
                return
            if message is None:
                said = self._last_words()
                self.stop()
                yield {"exit": -signal.SIGKILL, "said": said}
                return
            running = message.get("pid", running)
            limit = timeout_s if "begun" in message else START_S
            yield message
            if "exit" in message:
                return

    def stop(self) -> None:
        """End the process and everything that it has started."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._errors is not None:
            self._errors.close()

    def _send(self, request: Mapping[str, Any]) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = self._started()
        # a worker that has died says so in its messages
        with contextlib.suppress(BrokenPipeError):
            requests = cast("TextIO", process.stdin)
            requests.write(json.dumps(request) + "\n")
            requests.flush()

    def _started(self) -> subprocess.Popen[str]:
        self.stop()
        self._messages = queue.Queue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is ended
        process = subprocess.Popen(
            [sys.executable, "-m", "flagos_runtime.survey.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=self._environment,
            start_new_session=True,  # an interrupt from the terminal is for the survey, which then ends its workers
        )
        threading.Thread(target=_forward, args=(process, self._messages), daemon=True).start()
        threading.Thread(target=_end_with, args=(process,), daemon=True).start()
        return process

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing was said")

    def _kill(self, running: int | None) -> None:
        """Kill the child that hangs; where there is none, or it does not end, the worker itself."""
        if running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running, signal.SIGKILL)
            with contextlib.suppress(queue.Empty):
                while (message := self._messages.get(timeout=START_S)) is not None:
                    if "exit" in message:
                        return
        self.stop()


def _end_with(process: subprocess.Popen[str]) -> None:
    """End what *process* has started when it ends: a child would keep its output open, and go on unwatched."""
    process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _forward(process: subprocess.Popen[str], messages: queue.Queue[Message | None]) -> None:
    for line in process.stdout or ():
        with contextlib.suppress(ValueError):
            messages.put(json.loads(line))
    messages.put(None)
