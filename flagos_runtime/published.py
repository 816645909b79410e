"""What others measured of operators on their hardware and published; nothing of it was measured here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from flagos_runtime.records import CASES, VERDICTS

#: What the published surveys tell apart; that a case is unstable is not among it.
PUBLISHED_CASES: Final = tuple(word for word in CASES if word != "UNSTABLE")


@dataclass(frozen=True, slots=True)
class Cohort:
    """The overloads that a survey tried; verdicts of one cohort can be compared.

    Attributes:
        name: what is in it.
        overloads: how many overloads.
        profiles: how many cases were made of each.
    """

    name: str
    overloads: int
    profiles: int


class Source(NamedTuple):
    """Who published a survey, and where."""

    publisher: str
    place: str


@dataclass(frozen=True, slots=True)
class Published:
    """Counts of one survey on one device: overloads by verdict, and cases by status."""

    platform: str
    device: str
    cohort: Cohort
    source: Source
    verdicts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    cases: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def _published(platform: str, device: str, cohort: Cohort, source: Source, *counts: int) -> Published:
    """Return a record of counts that stand in the order of `VERDICTS`, then of `PUBLISHED_CASES`."""
    verdicts: dict[str, int] = dict(zip(VERDICTS, counts[: len(VERDICTS)], strict=True))
    cases: dict[str, int] = dict(zip(PUBLISHED_CASES, counts[len(VERDICTS) :], strict=True))
    return Published(platform, device, cohort, source, MappingProxyType(verdicts), MappingProxyType(cases))


_GENERIC: Final = Cohort("FlagGems routes of backends_flaggems.conf, Torch-FL fe2272b5, FlagGems 7fb49bad", 546, 7)
_ROUTED: Final = Cohort("routed overloads of MUSA", 467, 7)
_BASELINE: Final = Source("Torch-FL", "github.com/flagos-ai/Torch-FL/pull/101, docs/reference/operator-support.md")
_MUSA: Final = Source("FlagOS", "record of the routes of MUSA; no page is named")

PUBLISHED: Final = (
    _published("cuda", "A100", _GENERIC, _BASELINE, 348, 54, 46, 98, 2163, 1309, 0, 184, 152, 14, 0),
    _published("metax", "mC550", _GENERIC, _BASELINE, 260, 33, 155, 98, 1597, 1309, 0, 812, 90, 14, 0),
    _published("ppu", "PPU 810e", _GENERIC, _BASELINE, 347, 54, 47, 98, 2158, 1305, 0, 184, 154, 21, 0),
    _published("dcu", "bw1000", _GENERIC, _BASELINE, 321, 53, 74, 98, 2016, 1309, 0, 337, 146, 14, 0),
    _published("musa", "MTT S5000", _ROUTED, _MUSA, 303, 47, 38, 79, 1881, 1086, 0, 151, 132, 14, 5),
)
