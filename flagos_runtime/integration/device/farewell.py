"""The end of the process, which must not come while autograd's threads let go of their last graph.

A backward pass ends for its caller before the device's thread has freed what it worked on, objects of Python among it.
A thread that asks for the interpreter while that ends is stopped in the middle of C++ code, which aborts the process.
"""

from __future__ import annotations

import atexit
import time
from pathlib import Path

_TASKS = Path("/proc/self/task")
_ROUNDS, _PAUSE_S = 200, 0.001


def register() -> None:
    """Wait at the end for the threads of autograd; a second call changes nothing."""
    atexit.unregister(_wait)
    atexit.register(_wait)


def _wait() -> None:
    threads = [task for task in _TASKS.glob("*") if _read(task / "comm").startswith("pt_autograd")]
    for _ in range(_ROUNDS if threads else 0):
        # asleep, this thread leaves the interpreter to whoever wants it; a thread that sleeps after that wants nothing
        time.sleep(_PAUSE_S)
        if all(_is_asleep(task) for task in threads):
            return


def _is_asleep(task: Path) -> bool:
    return _read(task / "stat").rpartition(")")[2].split()[:1] in ([], ["S"])


def _read(file: Path) -> str:
    """Return the text of *file*, an empty one where there is none or the thread has gone."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
