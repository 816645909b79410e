"""Torch and the entry points that it loads: whether its import works, who breaks it, and its answers from a child."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from flagos_runtime.diagnostics import Diagnostic

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "torch.backends"
OURS: Final = "flagos_runtime"
SWITCH: Final = "TORCH_DEVICE_BACKEND_AUTOLOAD"
TIMEOUT_S: Final = 60.0
#: How torch names the entry point that raised (``torch/__init__.py``, 2.5 and newer).
NAMED: Final = re.compile(r"backend extension: (?P<name>.+?)\. You can")
#: What torch's import raised, and what had made that raise.
Chain = tuple[str, ...]

#: Vendors print banners, so stdout is kept for the answer and everything else goes to stderr.
CHILD: Final = """
import json, os, sys
stdout = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
found = {"answers": {}, "raised": []}
try:
    import torch
except Exception as exc:
    while exc is not None:
        found["raised"].append(f"{type(exc).__name__}: {exc}")
        exc = exc.__cause__
else:
    for target in sys.argv[1:]:
        try:
            value = torch
            for name in target.split(".")[1:]:
                value = getattr(value, name)
            found["answers"][target] = bool(value())
        except Exception:
            found["answers"][target] = None
json.dump(found, stdout)
stdout.flush()
"""


class TorchAnswers(NamedTuple):
    """What torch said of itself in a process of its own.

    Attributes:
        answers: the answer of each probe; ``None`` where none came.
        failure: why torch cannot be imported, where it cannot.
    """

    answers: Mapping[str, bool | None]
    failure: Diagnostic | None = None


def ask_torch(targets: Iterable[str], *, timeout_s: float = TIMEOUT_S) -> TorchAnswers:
    """Ask torch's own probes in a child, where this runtime changes nothing and a driver that hangs is ended."""
    names = tuple(targets)
    silent: dict[str, bool | None] = dict.fromkeys(names)
    if find_spec("torch") is None:
        return TorchAnswers(silent)
    try:
        found = json.loads(_run_child(names, timeout_s))
    except subprocess.TimeoutExpired:
        return TorchAnswers(silent, Diagnostic("FR302", "error", "torch", f"gave no answer within {timeout_s:g} s"))
    except (OSError, ValueError) as exc:
        return TorchAnswers(silent, _failure("torch", f"that ends the process: {exc}"))
    failure = import_failure(tuple(found["raised"])) if found["raised"] else None
    return TorchAnswers(silent | found["answers"], failure)


def import_findings() -> tuple[Diagnostic, ...]:
    """Return why torch cannot be imported, where it loads entry points of others; costs nothing where it does not."""
    if "torch" in sys.modules or not _foreign():
        return ()
    failure = ask_torch(()).failure
    return () if failure is None else (failure,)


def import_failure(raised: Chain) -> Diagnostic:
    """Return the finding for what ``import torch`` *raised*, which names the distribution whose entry point it was."""
    match = NAMED.search(raised[0])
    if match is None:
        return _failure("torch", raised[0])
    owners = " and ".join(_distributions(match["name"])) or "an unknown distribution"
    hint = f"repair or uninstall it, or set {SWITCH}=0 to leave it out"
    return _failure(f"entry point '{match['name']}' of {owners}", raised[-1], hint)


def chain(exc: BaseException) -> Chain:
    """Return *exc* and its causes as text."""
    words = f"{type(exc).__name__}: {exc}"
    return (words, *chain(exc.__cause__)) if exc.__cause__ is not None else (words,)


def _run_child(names: tuple[str, ...], timeout_s: float) -> str:
    # the working directory stays out of it; -I would also hide what PYTHONPATH names, which is part of the question
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *names],
        env={**os.environ, "FLAGOS_RUNTIME": "off", "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
    if not done.stdout:
        raise OSError(f"exit status {done.returncode}")
    return done.stdout


def _foreign() -> tuple[EntryPoint, ...]:
    if os.environ.get(SWITCH, "1") != "1":
        return ()
    return tuple(item for item in metadata.entry_points(group=GROUP) if item.name != OURS)


def _distributions(name: str) -> tuple[str, ...]:
    """Return every distribution that has an entry point *name*, with its version."""
    found = metadata.entry_points(group=GROUP, name=name)
    return tuple(sorted({f"{item.dist.name} {item.dist.version}" for item in found if item.dist is not None}))


def _failure(where: str, reason: str, hint: str = "") -> Diagnostic:
    return Diagnostic("FR304", "error", where, f"torch cannot be imported: {reason}", hint)
