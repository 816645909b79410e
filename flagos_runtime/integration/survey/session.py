"""One overload put under the surveyed backend and tried on its cases."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from flagos_runtime.errors import KernelUnavailableError
from flagos_runtime.integration.routing.library import overload_of
from flagos_runtime.integration.routing.router import install_operators
from flagos_runtime.integration.survey.cases import Settings, cases_of
from flagos_runtime.integration.survey.recorded import database, reached
from flagos_runtime.integration.survey.trial import Trial
from flagos_runtime.operators import KEPT
from flagos_runtime.plan import BackendChoice, OpDecision

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context

BY: Final = "survey"
#: Stands for a case while cases are made.
MAKING: Final = "making cases"

Say = Callable[..., None]


def prepare(context: Context, backend: str, overload: str) -> None:
    """Load what every child needs before the fork: torch's operator database and the backend's package."""
    # forked children have one thread, and those of a pool would be missing
    torch.set_num_threads(1)
    database()
    module, _, function = context.backends[backend].kernel.partition(":")
    if module:
        with contextlib.suppress(KernelUnavailableError):
            getattr(import_module(module), function)(context, overload)


def entries() -> tuple[str, ...]:
    """Return the entries of torch's operator database."""
    torch.set_num_threads(1)
    return tuple(database())


def reach(names: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield each of the entries *names* with the overloads that it leads to."""
    items = database()
    return ((name, sorted(reached(items[name]))) for name in names)


def try_overload(context: Context, request: Mapping[str, Any], say: Say) -> None:
    """Try the overload of *request* and *say* what each case comes to, before and after it."""
    overload, backend = request["overload"], request["backend"]
    if MAKING in request["done"]:
        return
    counts = install_operators(context, (_decision(overload, backend),), by=BY)
    # the device's own kernels are not counted: each look is a call more
    looks = itertools.count()
    served = (lambda: {backend: next(looks)}) if backend == KEPT else partial(counts.served, overload)
    device = torch.device(context.device_type, 0)
    trial = Trial(overload_of(overload), device, served, backend, request["repeats"])
    index = {name: tuple(items) for name, items in request["index"].items()}
    # the CPU is asked which calls it takes, and may die of one
    say(begun=MAKING, kind="", dtype="")
    cases = cases_of(overload, index, Settings(**request["settings"]))
    say(made=len(cases))
    for case in cases:
        if case.id not in request["done"]:
            say(begun=case.id, kind=case.kind, dtype=case.dtype)
            say(id=case.id, kind=case.kind, dtype=case.dtype, **trial.outcome(case)._asdict())


def _decision(overload: str, backend: str) -> OpDecision:
    return OpDecision(overload, (BackendChoice(backend, available=True, reason="surveyed"),), BY, "it is surveyed")
