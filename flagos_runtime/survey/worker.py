"""The process that tries overloads, one child for each, so that a crash takes that child alone.

It reads one request a line from standard input and answers with JSON, one object a line. On the embedded device the
child is a fork of this process, which has imported everything by then; a device does not survive a fork, so on every
other platform there is a process for each overload.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TextIO

Say = Callable[..., None]


def main() -> None:
    """Answer requests until standard input ends."""
    # what is imported may print; the answers have their stream for themselves
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(**message: object) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in sys.stdin:
        _answer(json.loads(line), answers, say)


def _answer(request: Mapping[str, Any], answers: TextIO, say: Say) -> None:
    # imported here: torch is loaded, and the runtime active, before the first request is read in no case
    from flagos_runtime.activation import active_context
    from flagos_runtime.integration.survey import session

    if "entries" in request:
        for name, overloads in session.reach(tuple(request["entries"]) or session.entries()):
            say(entry=name, reached=overloads)
        say(exit=0)
        return
    session.prepare(active_context(), request["backend"], request["overload"])
    if not request["forked"]:
        session.try_overload(active_context(), request, say)
        say(exit=0)
        return
    pid = os.fork()
    if pid == 0:
        _leave_after(request, answers, say)
    say(pid=pid)
    _, status = os.waitpid(pid, 0)
    say(exit=os.waitstatus_to_exitcode(status))


def _leave_after(request: Mapping[str, Any], answers: TextIO, say: Say) -> None:
    """Try the overload of *request* and end this child without what its parent does at the end."""
    from flagos_runtime.activation import active_context  # imported by now, as the next
    from flagos_runtime.integration.survey import session

    code = 1
    with contextlib.suppress(BaseException):
        try:
            session.try_overload(active_context(), request, say)
            code = 0
        except Exception:  # noqa: BLE001 - told to the parent, which raises it
            say(failed=traceback.format_exc(limit=-4))
    with contextlib.suppress(BaseException):
        answers.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
