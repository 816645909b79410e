"""A user's script, run as the main program of this process."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import TracebackType
from typing import Final

#: Frames that stand between the command line and the script, and that its author need not read.
OURS: Final = frozenset({__file__, runpy.__file__, "<frozen runpy>"})


def run_script(script: Path, arguments: list[str]) -> bool:
    """Run *script* as ``python script`` would; return whether it ended without an error.

    ``SystemExit`` passes through. Any other error goes to ``sys.excepthook``, which the script may have replaced.
    """
    sys.argv = [str(script), *arguments]
    # without a safe path the first entry belongs to the program that was started: the script's folder takes its place
    if not getattr(sys.flags, "safe_path", False) and not script.is_dir():
        sys.path[0] = str(script.resolve().parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Exception as error:  # noqa: BLE001 - the script's own error is no bug of ours
        error.__traceback__ = _users_part(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return False
    return True


def _users_part(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename in OURS:
        traceback = traceback.tb_next
    return traceback
