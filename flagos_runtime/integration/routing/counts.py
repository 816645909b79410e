"""How often which backend served which overload, and what failed."""

from __future__ import annotations

import logging
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagos_runtime.plan import OpCalls, OpFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What a call is counted under that no backend of its route served: the kernel that was there before did.
PRIOR: Final = "prior"

dispatch_log: Final = logging.getLogger("flagos_runtime.dispatch")
fallback_log: Final = logging.getLogger("flagos_runtime.fallback")


class Counts:
    """Counters of one activation, by overload."""

    def __init__(self) -> None:
        self._of: dict[str, OverloadCounts] = {}

    def of(self, overload: str) -> OverloadCounts:
        """Return the counters of one overload, in which its kernel counts."""
        return self._of.setdefault(overload, OverloadCounts(overload))

    def served(self, overload: str) -> Mapping[str, int]:
        """Return how many calls of *overload* each backend has served."""
        return dict(self.of(overload).calls)

    def records(self) -> tuple[OpCalls, ...]:
        """Return what is counted, in the order of the overloads' names."""
        return tuple(self._of[name].record() for name in sorted(self._of))


class OverloadCounts:
    """Counters of one overload.

    Attributes:
        calls: by backend.
        in_force: the kernel that the next call tries first.
        prior: the kernel that was there before.
    """

    __slots__ = ("_failures", "_overload", "calls", "in_force", "prior")

    def __init__(self, overload: str) -> None:
        self._overload = overload
        self._failures: dict[str, OpFailure] = {}
        self.calls: Counter[str] = Counter()
        self.in_force = self.prior = ""

    def failed(self, backend: str, error: BaseException, then: str) -> None:
        """Note that *backend* failed, and what is done about it; the first failure is kept."""
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if backend not in self._failures:
            self._failures[backend] = OpFailure(backend, reason, then)
            fallback_log.info("%s: %s failed (%s), %s", self._overload, backend, reason, then)

    def record(self) -> OpCalls:
        """Return the counters as they are now."""
        calls, failures = MappingProxyType(dict(self.calls)), tuple(self._failures.values())
        return OpCalls(self._overload, calls, failures, self.in_force, self.prior)
