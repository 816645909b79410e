"""One case on the CPU and on the device, and what the difference comes to."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch.utils._pytree import tree_flatten

from flagos_runtime.integration.survey.calls import HOST, Call
from flagos_runtime.integration.survey.cases import Case
from flagos_runtime.records import CaseStatus

#: A case that took longer is not repeated where it passed.
SLOW_S: Final = 2.0


class Outcome(NamedTuple):
    """What one case came to: its status, a clause for people, and the seconds that the device took."""

    status: CaseStatus
    detail: str
    seconds: float


class _Answer(NamedTuple):
    """What a call gave: results, its arguments afterwards, which argument each result is, and gradients."""

    results: list[Any]
    arguments: list[torch.Tensor]
    returned: list[int | None]
    gradients: list[torch.Tensor | None]


class Trial:
    """Tries cases of one overload on *device*.

    Args:
        op: the overload.
        device: where it is tried.
        served: tells by which backend calls were served so far.
        backend: the one that is surveyed.
        repeats: how often each case is run with the same arguments.
    """

    def __init__(
        self,
        op: torch._ops.OpOverload,
        device: torch.device,
        served: Callable[[], Mapping[str, int]],
        backend: str,
        repeats: int,
    ) -> None:
        self.op = op
        self.device = device
        self.served = served
        self.backend = backend
        self.repeats = repeats

    def outcome(self, case: Case) -> Outcome:
        """Return what *case* comes to."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = self._answer(case, HOST, seed=0)
            except Exception as error:  # noqa: BLE001 - whatever the reference raises makes the case no case
                return Outcome("INVALID_CASE", f"the CPU raises {_first_line(error)}", 0.0)
            return self._compared(case, wanted, random=self._is_random(case, wanted))

    def _is_random(self, case: Case, wanted: _Answer) -> bool:
        """Tell whether the CPU itself gives another answer the next time."""
        if torch.Tag.nondeterministic_seeded in self.op.tags:
            return True
        return bool(_difference(wanted, self._answer(case, HOST, seed=1), exact=True))

    def _compared(self, case: Case, wanted: _Answer, *, random: bool) -> Outcome:
        begun = time.monotonic()
        first, answer = self._once(case, wanted, random=random)
        seconds = time.monotonic() - begun
        for _ in range(1, self.repeats):
            if random or first.status == "UNVERIFIABLE" or (first.status == "PASS" and seconds > SLOW_S):
                break
            again, other = self._once(case, wanted, random=random)
            change = _change(first, again, answer, other)
            if change:
                return Outcome("UNSTABLE", change, seconds)
        return first._replace(seconds=seconds)

    def _once(self, case: Case, wanted: _Answer, *, random: bool) -> tuple[Outcome, _Answer | None]:
        before = dict(self.served())
        try:
            found = self._answer(case, self.device, seed=0)
        except Exception as error:  # noqa: BLE001 - whatever the kernel raises is what is surveyed
            return Outcome("ERROR", _first_line(error), 0.0), None
        return self._judged(wanted, found, before, random=random), found

    def _judged(self, wanted: _Answer, found: _Answer, before: Mapping[str, int], *, random: bool) -> Outcome:
        after = self.served()
        if after.get(self.backend, 0) == before.get(self.backend, 0):
            others = ", ".join(name for name in after if after[name] > before.get(name, 0)) or "nobody"
            return Outcome("UNVERIFIABLE", f"served by {others}, not by {self.backend}", 0.0)
        wrong = _difference(wanted, found, exact=False, values=not random)
        if wrong:
            return Outcome("WRONG", wrong, 0.0)
        if random:
            return Outcome("UNVERIFIABLE", "the CPU's own answer differs from run to run; dtype and shape agree", 0.0)
        return Outcome("PASS", "", 0.0)

    def _answer(self, case: Case, device: torch.device, *, seed: int) -> _Answer:
        call = case.call.on(device)
        torch.manual_seed(seed)
        if case.with_grad:
            return _with_gradients(self.op, call)
        with torch.no_grad():
            result = call.of(self.op)
        arguments, results = call.tensors(), tree_flatten(result)[0]
        places = {id(item): at for at, item in enumerate(arguments)}
        returned = [places.get(id(item)) for item in results]
        return _Answer(_hosted(results), _hosted(arguments), returned, [])


def _with_gradients(op: torch._ops.OpOverload, call: Call) -> _Answer:
    call = call.mapped(lambda item: item.requires_grad_() if item.is_floating_point() else item)
    results = tree_flatten(call.of(op))[0]
    outputs = [item for item in results if isinstance(item, torch.Tensor) and item.requires_grad]
    if not outputs:
        raise ValueError("nothing of the result has a gradient")
    torch.autograd.backward(outputs, [torch.ones_like(item) for item in outputs])
    gradients = [None if item.grad is None else _host(item.grad) for item in call.tensors()]
    return _Answer(_hosted(results), [], [None] * len(results), gradients)


def _hosted(values: list[Any]) -> list[Any]:
    return [_host(item) if isinstance(item, torch.Tensor) else item for item in values]


def _host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(HOST).clone()


# -- differences ----------------------------------------------------------------------------------------------------


def _difference(wanted: _Answer, found: _Answer, *, exact: bool, values: bool = True) -> str:
    """Say how *found* differs from *wanted*, empty where it does not."""
    if len(found.results) != len(wanted.results):
        return f"gives {len(found.results)} results, wanted {len(wanted.results)}"
    if found.returned != wanted.returned:
        return "results are not the arguments that they should be"
    for title, ours, theirs in (
        ("result", found.results, wanted.results),
        ("argument", found.arguments, wanted.arguments),
        ("gradient of argument", found.gradients, wanted.gradients),
    ):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            text = _unlike(one, other, exact=exact, values=values)
            if text:
                return f"{title} {at}: {text}"
    return ""


def _unlike(found: Any, wanted: Any, *, exact: bool, values: bool) -> str:
    if not isinstance(found, torch.Tensor) or not isinstance(wanted, torch.Tensor):
        return "" if not values or found == wanted or found is wanted else f"is {found!r}, wanted {wanted!r}"
    if found.dtype != wanted.dtype:
        return f"has dtype {found.dtype}, wanted {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"has shape {tuple(found.shape)}, wanted {tuple(wanted.shape)}"
    return _unequal(found, wanted, exact=exact) if values else ""


def _unequal(found: torch.Tensor, wanted: torch.Tensor, *, exact: bool) -> str:
    tolerance = 0.0 if exact else None
    try:
        torch.testing.assert_close(found, wanted, equal_nan=True, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def _change(first: Outcome, again: Outcome, answer: _Answer | None, other: _Answer | None) -> str:
    """Say how a second run with the same arguments differs from the first, empty where it does not."""
    if first.status != again.status:
        return f"{first.status} once and {again.status} the next time: {first.detail or again.detail}"
    if answer is None or other is None:
        return ""
    text = _difference(answer, other, exact=False)
    return f"differs between two runs: {text}" if text else ""


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:400]
