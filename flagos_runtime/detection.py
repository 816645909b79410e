"""Decide from probe results alone which platform a host has, and keep the reason for each that it could have been.

Pure: everything that a decision rests on is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ResolveError
from flagos_runtime.records import Candidate, Detection, Platform, Presence, ProbeResult, ProbeSpec

ChosenBy = Literal["environment", "argument", "routes"]
Results = Mapping[str, tuple[ProbeResult, ...]]

ASKED_IN: Final[Mapping[str, str]] = MappingProxyType(
    {"environment": "FLAGOS_PLATFORM", "argument": "platform=", "routes": "'platform' in the route file"}
)

#: What detection may choose.
FIT: Final[tuple[Presence, ...]] = ("usable", "declared")


def detect(
    platforms: Sequence[Platform], results: Results, *, explicit: str | None, chosen_by: ChosenBy = "argument"
) -> Detection:
    """Choose the platform of a host from its probe *results*, by name where *explicit* gives one.

    A platform that is chosen by name is chosen even where it is unusable: its candidate says so, and activation fails
    loudly. Without a name, the usable and detectable platform of the highest rank wins, of equals the first. One
    whose presence its software alone declares comes after all those whose card was seen.

    Raises:
        ResolveError: *explicit* is no platform's name (FR108).
    """
    found = {item.name: _presence(item, results.get(item.name, ())) for item in platforms}
    chosen = _highest(platforms, found) if explicit is None else _named(platforms, explicit, chosen_by)
    asked = None if explicit is None else ASKED_IN[chosen_by]
    return Detection(
        platform=chosen,
        chosen_by=chosen_by if explicit is not None else "detection" if chosen else "nothing",
        candidates=tuple(_candidate(item, found[item.name], chosen, asked) for item in platforms),
        probes=tuple(result for item in platforms for result in results.get(item.name, ())),
    )


def _named(platforms: Sequence[Platform], name: str, chosen_by: ChosenBy) -> Platform:
    for item in platforms:
        if item.name == name:
            return item
    # imported late: needed for a wrong name only
    from difflib import get_close_matches

    known = [item.name for item in platforms]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else ""
    message = f"unknown platform '{name}', known are {', '.join(known) or 'none'}"
    raise ResolveError((Diagnostic("FR108", "error", ASKED_IN[chosen_by], message, hint),))


def _highest(platforms: Sequence[Platform], found: Mapping[str, tuple[Presence, str]]) -> Platform | None:
    fit = [item for item in platforms if item.detectable and found[item.name][0] in FIT]
    return max(fit, key=lambda item: (found[item.name][0] == "usable", item.rank), default=None)


def _presence(platform: Platform, results: Sequence[ProbeResult]) -> tuple[Presence, str]:
    by_name = {item.name: item for item in results}
    answers = [(spec, by_name.get(spec.name) or _unasked(spec)) for spec in platform.probes]
    cards = [_card(spec, result) for spec, result in answers if spec.presence and result.state == "available"]
    signs = [result.reason for spec, result in answers if spec.presence]
    if platform.presence_evidence == "declared":
        return _declared(answers)
    if not cards and (signs or platform.detectable):
        return "absent", f"no card found: {'; '.join(signs) or 'no probe looks for one'}"
    missing = [result.reason for spec, result in answers if spec.required and result.state != "available"]
    card = f"card found ({', '.join(cards)})" if cards else "needs no card"
    return ("unusable", f"{card}, but {'; '.join(missing)}") if missing else ("usable", card)


def _declared(answers: Sequence[tuple[ProbeSpec, ProbeResult]]) -> tuple[Presence, str]:
    """Judge a platform whose card cannot be seen: all that speaks for it has to be there."""
    signs = [(spec, result) for spec, result in answers if spec.presence]
    missing = [result.reason for _, result in signs if result.state != "available"]
    if missing:
        return "absent", f"its software does not declare it: {'; '.join(missing)}"
    found = ", ".join(_card(spec, result) for spec, result in signs)
    return "declared", f"declared by its software ({found}), no probe can see a card"


def _unasked(spec: ProbeSpec) -> ProbeResult:
    return ProbeResult(spec.name, "unknown", f"probe '{spec.name}' was not run")


def _card(spec: ProbeSpec, result: ProbeResult) -> str:
    if result.overridden:
        return result.reason
    if spec.kind == "module":
        return f"{' or '.join(spec.subjects)} {result.value}".rstrip()
    return f"pci {result.value}" if spec.kind == "pci" else result.value or spec.name


def _candidate(
    platform: Platform, found: tuple[Presence, str], chosen: Platform | None, asked: str | None
) -> Candidate:
    presence, reason = found
    if platform is chosen:
        won_by = f"named by {asked}" if asked else f"no usable platform has a rank above {platform.rank}"
        return Candidate(platform.name, presence, True, f"{reason}; {won_by}")
    if not platform.detectable:
        reason = f"{reason}; chosen by name only"
    elif presence in FIT and chosen is not None:
        reason = f"{reason}; '{chosen.name}' {f'is named by {asked}' if asked else _precedence(chosen, platform)}"
    return Candidate(platform.name, presence, False, reason)


def _precedence(chosen: Platform, platform: Platform) -> str:
    if chosen.rank == platform.rank:
        return f"of the same rank {chosen.rank} is listed first"
    return f"of rank {chosen.rank} goes before rank {platform.rank}"
