"""What the cases of an overload come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flagos_runtime.records import CaseStatus, Verdict

#: Of no weight: there is no answer of the CPU to compare with.
IDLE: Final = frozenset({"INVALID_CASE", "UNVERIFIABLE"})


def verdict(statuses: Iterable[CaseStatus]) -> Verdict:
    """Return the verdict on an overload.

    ``STRICT``: every case that the CPU takes passed. ``BASIC_ONLY``: some passed. ``FAILED``: none passed.
    ``UNTESTED``: there was none. An unstable case has not passed.
    """
    weighed = [status for status in statuses if status not in IDLE]
    if not weighed:
        return "UNTESTED"
    passed = weighed.count("PASS")
    if passed == len(weighed):
        return "STRICT"
    return "BASIC_ONLY" if passed else "FAILED"
