"""What a route file says against what is known: names, and entries that contradict each other.

The checks look at plain values and pass over what has another shape, so they run on a file whose shape is wrong too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from flagos_runtime.config.environment import switch_names
from flagos_runtime.config.excerpt import shown, suggestion
from flagos_runtime.config.inheritance import inheritance_findings
from flagos_runtime.config.known import Known
from flagos_runtime.config.models import ALIAS_NAMES, ALIAS_TARGET
from flagos_runtime.config.patterns import canonical, pattern_problem
from flagos_runtime.config.servable import unservable
from flagos_runtime.config.source import Document, Steps
from flagos_runtime.diagnostics import Diagnostic

#: Stands for any key of a mapping and any entry of a list.
ANY: Final = "*"
DEVICE_FUNCTION: Final = re.compile(r"device\.[A-Za-z_]\w*")
TORCH_NAME: Final = re.compile(r"torch(\.[A-Za-z_]\w*)+")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check is given: the file, and the names that it may use."""

    document: Document
    known: Known


Check = Callable[[Checked, Steps, object], Iterator[Diagnostic]]


def contradictions(document: Document, known: Known) -> Iterator[Diagnostic]:
    """Yield an error for each unknown name and each contradiction in *document*."""
    checked = Checked(document, known)
    yield from inheritance_findings(document, known.platforms)
    for place, check in CHECKS:
        for steps, value in selected(document.value, place):
            if not document.is_flagged(steps):
                yield from check(checked, steps, value)


def selected(value: object, place: Steps, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Yield the values at *place*, each with the steps to it; what has another shape is passed over."""
    if not place:
        yield steps, value
    elif isinstance(value, tuple) and place[0] == ANY:
        for index, item in enumerate(value):
            yield from selected(item, place[1:], (*steps, index))
    elif isinstance(value, Mapping):
        for name in value if place[0] == ANY else {place[0]} & set(value):
            yield from selected(value[name], place[1:], (*steps, name))


# -- probes and aliases ---------------------------------------------------------------------------------------------


def _probe(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if not isinstance(value, str) or value in checked.known.probes:
        return
    if not value.startswith("torch."):
        message = f"{shown(value)} is outside torch, and a route file names targets below 'torch.' only"
    else:
        message = f"{shown(value)} is no probe that can be redirected"
    yield checked.document.at_value("FR111", steps, message, suggestion(value, checked.known.probes))


def _redirect(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if isinstance(value, str) and not DEVICE_FUNCTION.fullmatch(value):
        message = f"'redirect' is {shown(value)}, wanted 'device.' and the name of a function"
        hint = "a probe is answered by the device's own module, for instance by 'device.is_available'"
        yield checked.document.at_value("FR104", steps, message, hint)


def _alias(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if not isinstance(value, Mapping):
        return
    name, to = value.get("name"), value.get("to")
    if isinstance(name, str) and name not in ALIAS_NAMES:
        message = f"no alias of the name {shown(name)} exists"
        yield checked.document.at_value("FR110", (*steps, "name"), message, suggestion(name, ALIAS_NAMES))
    if isinstance(to, str) and to != ALIAS_TARGET:
        what = f"{shown(to)} is an alias of itself" if to == name else f"an alias cannot mean {shown(to)}"
        hint = f"write 'to: {ALIAS_TARGET}'"
        yield checked.document.at_value("FR110", (*steps, "to"), f"{what}, wanted '{ALIAS_TARGET}'", hint)


def _excluded(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if isinstance(value, str) and not TORCH_NAME.fullmatch(value):
        message = f"{shown(value)} is no target below 'torch.'"
        yield checked.document.at_value("FR111", steps, message, "write the full name, as in 'torch.cuda.memory_stats'")


def _switch(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if isinstance(value, str) and value not in switch_names():
        message = f"{shown(value)} is no switch of the environment that this runtime reads"
        yield checked.document.at_value("FR116", steps, message, suggestion(value, switch_names()))


# -- operators and patches ------------------------------------------------------------------------------------------


def _patterns(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if not isinstance(value, Mapping):
        return
    first: dict[str, Steps] = {}
    for pattern in value:
        inner = (*steps, pattern)
        problem = pattern_problem(pattern, checked.known.overloads)
        if problem and not checked.document.is_flagged(inner):
            yield checked.document.at_key("FR112", inner, *problem)
        earlier = first.setdefault(canonical(pattern), inner)
        if earlier != inner:
            line = checked.document.keys[earlier].line
            message = f"{shown(pattern)} is the overload that {shown(str(earlier[-1]))} on line {line} names"
            yield checked.document.at_key("FR115", inner, message, "keep one of the two")


def _servable(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    # a name that is wrong has been reported, and nothing more can be said of it
    if pattern_problem(str(steps[-1]), checked.known.overloads) is None:
        yield from unservable(checked.document, checked.known, steps, value)


def _kept(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    """Check the list of operators that keep the kernel which is there."""
    first: dict[str, Steps] = {}
    for inner, pattern in selected(value, (ANY,), steps):
        if not isinstance(pattern, str) or not pattern or checked.document.is_flagged(inner):
            continue
        if problem := pattern_problem(pattern, checked.known.overloads):
            yield checked.document.at_value("FR112", inner, *problem)
        earlier = first.setdefault(canonical(pattern), inner)
        if earlier != inner:
            line = checked.document.mark(earlier).line
            message = f"{shown(pattern)} stands in this list on line {line} already"
            yield checked.document.at_value("FR115", inner, message, "keep one of the two")


def _kept_and_routed(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    """Check that an entry does not both exclude and route the same."""
    routes = {canonical(str(inner[-1])): inner for inner, _ in selected(value, ("routes", ANY), steps)}
    for inner, pattern in selected(value, ("exclude", ANY), steps):
        # taken out, since a repetition is reported as one
        route = routes.pop(canonical(pattern), None) if isinstance(pattern, str) else None
        if route is not None:
            here, there = checked.document.mark(inner).line, checked.document.keys[route].line
            message = f"{shown(str(pattern))} is excluded on line {here} and has a route on line {there}"
            yield checked.document.at_value("FR115", inner, message, "keep one of the two")


def _backends(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    """Check a list of backends, or the single one that a route is short for."""
    names = value if isinstance(value, tuple) else (value,)
    for index, name in enumerate(names):
        inner = (*steps, index) if isinstance(value, tuple) else steps
        if not isinstance(name, str) or not name or checked.document.is_flagged(inner):
            continue
        if name not in checked.known.backends:
            message = f"no backend is called {shown(name)}"
            yield checked.document.at_value("FR113", inner, message, suggestion(name, checked.known.backends))
    if "none" in names and len(names) > 1:
        message = "'none' refuses every call, so no other backend can stand beside it"
        hint = "write 'none' alone, or leave it out"
        yield checked.document.at_value("FR115", (*steps, names.index("none")), message, hint)
    yield from _repeated(checked, steps, value)


def _guard(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if not isinstance(value, Mapping):
        return
    for what in ("ndim", "numel"):
        least, most = value.get(f"min_{what}"), value.get(f"max_{what}")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            message = f"'min_{what}' is {least} and 'max_{what}' is {most}, so no call can meet this guard"
            yield checked.document.at_value("FR115", (*steps, f"min_{what}"), message, "swap the two")


def _patch(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    if isinstance(value, str) and value not in checked.known.patches:
        message = f"no patch has the id {shown(value)}"
        yield checked.document.at_value("FR114", steps, message, suggestion(value, checked.known.patches))


# -- repetitions ----------------------------------------------------------------------------------------------------


def _repeated(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
    """Check that the texts of a list are all different."""
    if isinstance(value, tuple):
        yield from _repetitions(checked, (((*steps, index), item) for index, item in enumerate(value)))


def _unique(key: str) -> Check:
    """Return a check that the entries of a list differ in *key*."""

    def check(checked: Checked, steps: Steps, value: object) -> Iterator[Diagnostic]:
        yield from _repetitions(checked, ((inner, item) for inner, item in selected(value, (ANY, key), steps)))

    return check


def _repetitions(checked: Checked, items: Iterable[tuple[Steps, object]]) -> Iterator[Diagnostic]:
    first: dict[str, Steps] = {}
    for steps, item in items:
        if not isinstance(item, str) or checked.document.is_flagged(steps):
            continue
        earlier = first.setdefault(item, steps)
        if earlier != steps:
            line = checked.document.mark(earlier).line
            message = f"{shown(item)} stands in this list on line {line} already"
            yield checked.document.at_value("FR115", steps, message, "keep one of the two")


PLATFORM: Final[Steps] = ("platforms", ANY)
CHECKS: Final[tuple[tuple[Steps, Check], ...]] = (
    ((*PLATFORM, "probes"), _unique("target")),
    ((*PLATFORM, "probes", ANY, "target"), _probe),
    ((*PLATFORM, "probes", ANY, "redirect"), _redirect),
    ((*PLATFORM, "aliases"), _unique("name")),
    ((*PLATFORM, "aliases", ANY), _alias),
    ((*PLATFORM, "aliases", ANY, "exclude"), _repeated),
    ((*PLATFORM, "aliases", ANY, "exclude", ANY), _excluded),
    ((*PLATFORM, "aliases", ANY, "when", "original_false", ANY), _probe),
    ((*PLATFORM, "aliases", ANY, "when", "switch_on"), _switch),
    ((*PLATFORM, "ops", "prefer"), _backends),
    ((*PLATFORM, "ops"), _kept_and_routed),
    ((*PLATFORM, "ops", "exclude"), _kept),
    ((*PLATFORM, "ops", "routes"), _patterns),
    ((*PLATFORM, "ops", "routes", ANY), _servable),
    ((*PLATFORM, "ops", "routes", ANY), _backends),
    ((*PLATFORM, "ops", "routes", ANY, "use"), _backends),
    ((*PLATFORM, "ops", "routes", ANY, "guard"), _guard),
    ((*PLATFORM, "patches"), _unique("id")),
    ((*PLATFORM, "patches", ANY, "id"), _patch),
)
