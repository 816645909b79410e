"""What the cases of an overload come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, get_args

from flagos_runtime.records import CaseStatus, Verdict

CASES: Final[tuple[CaseStatus, ...]] = get_args(CaseStatus)
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
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


def counted(found: Iterable[str], words: tuple[str, ...]) -> Mapping[str, int]:
    """Return how often each of *words* is among *found*."""
    counts = Counter(found)
    return {word: counts[word] for word in words}
