"""Decide, from facts and routes alone, which steps an activation takes, and in which order.

Pure: everything that a decision rests on is an argument. Torch's own answers come in through ``answers``; the resolver
never asks a live probe, so a probe that this runtime has redirected cannot mislead it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ResolveError
from flagos_runtime.plan import AliasRoute, Decision, DecisionState, OpDecision, Plan, PlatformRoutes
from flagos_runtime.records import Platform, StepKind, StepSpec

if TYPE_CHECKING:
    from random import Random

#: For each step, by its place in the list, the places of those that it waits for.
Graph = dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether a step is taken, why, and the place that says so."""

    state: DecisionState
    reason: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything that the verdict on a step may rest on."""

    platform: Platform
    routes: PlatformRoutes
    answers: Mapping[str, bool | None]
    switches: Mapping[str, bool]
    operators: Sequence[OpDecision]


def resolve(
    platform: Platform,
    routes: PlatformRoutes,
    specs: Sequence[StepSpec],
    *,
    answers: Mapping[str, bool | None],
    switches: Mapping[str, bool],
    operators: Sequence[OpDecision] = (),
) -> Plan:
    """Turn *routes* into ordered steps, with a decision for every one of *specs*.

    Args:
        platform: the platform that is to be activated.
        routes: its routes, ``extends`` followed.
        specs: everything that this runtime is able to install there, in order of declaration.
        answers: torch's own answers by probe, ``None`` where they are unknown; never what a redirected probe says.
        switches: the environment's switches by name; one that is missing is on.
        operators: what was decided for single overloads.

    Raises:
        ResolveError: all contradictions at once (FR111, FR115, FR401, FR402, FR403).
    """
    case = _Case(platform, routes, answers, switches, operators)
    verdicts = [_verdict(spec, case) for spec in specs]
    selected = [spec for spec, verdict in zip(specs, verdicts, strict=True) if verdict.state == "planned"]
    graph = _graph(selected)
    errors = (*_mismatches(routes, specs), *_unknown_waits(selected, specs), *_cycles(selected, graph))
    errors += tuple(_contested(selected, graph))
    if errors:
        raise ResolveError(errors)
    steps = tuple(selected[index] for index in _order(graph, min))
    places = {spec.id: place for place, spec in enumerate(steps)}
    decisions = (_decision(spec, verdict, places) for spec, verdict in zip(specs, verdicts, strict=True))
    return Plan(platform, steps, (*decisions, *_idle_patches(routes, specs)), routes, tuple(operators))


def valid_order(plan: Plan, rng: Random) -> tuple[StepSpec, ...]:
    """Return the plan's steps in a random order that keeps every ``after``."""
    return tuple(plan.steps[index] for index in _order(_graph(plan.steps), rng.choice))


def _decision(spec: StepSpec, verdict: _Verdict, places: Mapping[str, int]) -> Decision:
    return Decision(spec.id, spec.target, verdict.state, verdict.reason, verdict.where, places.get(spec.id))


def _verdict(spec: StepSpec, case: _Case) -> _Verdict:
    return RULES[spec.kind](spec, case)


def _device(_: StepSpec, case: _Case) -> _Verdict:
    if case.platform.kind == "sim":
        return _Verdict("planned", "torch has no device of this platform, so this runtime provides it")
    return _Verdict("skipped", f"platform '{case.platform.name}' has a device of its own")


def _probe(spec: StepSpec, case: _Case) -> _Verdict:
    for route in case.routes.probes:
        if spec.id == f"probe:{route.target}":
            return _Verdict("planned", f"redirected to {route.redirect}", route.where)
    return _Verdict("skipped", f"no route of platform '{case.platform.name}' redirects it")


def _aliased(spec: StepSpec, case: _Case) -> _Verdict:
    if spec.alias is None:
        return _embedded_only(case)
    for route in case.routes.aliases:
        if route.name == spec.alias:
            return _under_alias(spec, route, case)
    return _Verdict("skipped", f"platform '{case.platform.name}' has no alias '{spec.alias}'")


def _embedded_only(case: _Case) -> _Verdict:
    if case.platform.kind == "sim":
        return _Verdict("planned", "part of the embedded device")
    return _Verdict("skipped", f"for the embedded device, not for platform '{case.platform.name}'")


def _under_alias(spec: StepSpec, route: AliasRoute, case: _Case) -> _Verdict:
    switch = route.when.switch_on
    if not route.enabled:
        return _Verdict("disabled", f"alias '{route.name}' is not enabled", route.where)
    if switch is not None and not case.switches.get(switch, True):
        return _Verdict("disabled", f"{switch} is off", route.where)
    if route.name == case.platform.device_type:
        return _Verdict("skipped", f"'{route.name}' is the canonical device itself", route.where)
    refusal = _genuine(route, case.answers)
    if refusal:
        return _Verdict("skipped", refusal, route.where)
    excluded = next((item for item in route.exclude if f"{spec.target}.".startswith(f"{item}.")), None)
    if excluded:
        return _Verdict("disabled", f"'{excluded}' is excluded from alias '{route.name}'", route.where)
    return _Verdict("planned", f"alias '{route.name}' means {case.platform.device_type} here", route.where)


def _genuine(route: AliasRoute, answers: Mapping[str, bool | None]) -> str:
    """Say why the alias's name may be genuine hardware; empty where torch itself denies it."""
    for name in route.when.original_false:
        answer = answers.get(name)
        if answer:
            return f"torch's own {name} answers True: {route.name} names genuine hardware"
        if answer is None:
            return f"torch's own answer of {name} is unknown: {route.name} may name genuine hardware"
    return ""


def _op(_: StepSpec, case: _Case) -> _Verdict:
    if not case.operators:
        return _Verdict("skipped", f"no operator route of platform '{case.platform.name}' is written")
    from flagos_runtime.operators import counted, needs_kernel  # late: most hosts route no operator

    kernels = [item for item in case.operators if needs_kernel(item)]
    if kernels:
        count = ", ".join(f"{number} {backend}" for backend, number in counted(kernels).items())
        return _Verdict("planned", f"{len(kernels)} overload(s): {count}", kernels[0].where)
    return _Verdict("skipped", f"{len(case.operators)} overload(s), and each keeps the kernel that is there")


def _patch(spec: StepSpec, case: _Case) -> _Verdict:
    for route in case.routes.patches:
        if spec.id in _patch_ids(route.id):
            state: DecisionState = "planned" if route.enabled else "disabled"
            return _Verdict(state, "enabled by its route" if route.enabled else "disabled by its route", route.where)
    return _Verdict("planned", "enabled where no route says otherwise")


def _idle_patches(routes: PlatformRoutes, specs: Sequence[StepSpec]) -> Iterator[Decision]:
    """Report routes of another platform's patch, which ``extends`` may bring along."""
    known = {spec.id for spec in specs}
    for route in routes.patches:
        if known.isdisjoint(_patch_ids(route.id)):
            reason = f"platform '{routes.name}' has no such patch"
            yield Decision(_patch_ids(route.id)[1], "", "skipped", reason, route.where)


def _patch_ids(name: str) -> tuple[str, str]:
    """Return the id as it stands in a route, and in full."""
    return name, f"patch:{name.removeprefix('patch:')}"


RULES: Final[Mapping[StepKind, Callable[[StepSpec, _Case], _Verdict]]] = MappingProxyType(
    {"device": _device, "probe": _probe, "alias": _aliased, "compile": _aliased, "op": _op, "patch": _patch}
)

# -- what contradicts ------------------------------------------------------------------------------------------------


def _error(code: str, where: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code, "error", where, message, hint)


def _mismatches(routes: PlatformRoutes, specs: Sequence[StepSpec]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for spec in specs:
        if spec.id in seen:
            yield _error("FR115", spec.id, f"two steps have the id '{spec.id}'")
        seen.add(spec.id)
    for probe in routes.probes:
        if f"probe:{probe.target}" not in seen:
            yield _error("FR111", probe.where, f"no step redirects the probe '{probe.target}'")


def _unknown_waits(selected: Sequence[StepSpec], specs: Sequence[StepSpec]) -> Iterator[Diagnostic]:
    known = {spec.id for spec in specs}
    for spec in selected:
        for name in spec.after:
            if name not in known:
                yield _error("FR402", spec.id, f"'{spec.id}' waits for '{name}', which does not exist")


def _cycles(selected: Sequence[StepSpec], graph: Graph) -> Iterator[Diagnostic]:
    """Report every circle: graphlib names one at a time, so its members are taken out before the next look."""
    rest = dict(graph)
    while True:
        try:
            TopologicalSorter(rest).prepare()
        except CycleError as exc:
            members: list[int] = exc.args[1]
            names = " waits for ".join(f"'{selected[index].id}'" for index in reversed(members))
            yield _error("FR401", selected[members[0]].id, f"{names}", "take one name out of an 'after'")
            rest = {index: waits for index, waits in rest.items() if index not in members}
        else:
            return


def _contested(selected: Sequence[StepSpec], graph: Graph) -> Iterator[Diagnostic]:
    writers: dict[str, list[int]] = {}
    for index, spec in enumerate(selected):
        writers.setdefault(spec.target, []).append(index)
    for target, indices in writers.items():
        for one, two in combinations(indices, 2):
            if two not in _earlier(one, graph) and one not in _earlier(two, graph):
                pair = f"'{selected[one].id}' and '{selected[two].id}'"
                yield _error("FR403", target, f"{pair} write '{target}' in no stated order", "name one in the 'after'")


def _earlier(index: int, graph: Graph) -> set[int]:
    """Return everything that the step at *index* waits for, directly or not."""
    seen: set[int] = set()
    rest = [index]
    while rest:
        new = set(graph[rest.pop()]) - seen
        seen |= new
        rest.extend(new)
    return seen


# -- order -----------------------------------------------------------------------------------------------------------


def _graph(steps: Sequence[StepSpec]) -> Graph:
    """Return who waits for whom; a step that was not selected holds nobody up."""
    places = {spec.id: index for index, spec in enumerate(steps)}
    return {index: tuple(places[name] for name in spec.after if name in places) for index, spec in enumerate(steps)}


def _order(graph: Graph, pick: Callable[[list[int]], int]) -> Iterator[int]:
    """Yield all steps in an order that keeps the graph; *pick* chooses among those that are ready."""
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    ready: list[int] = []
    while sorter.is_active():
        ready.extend(sorter.get_ready())
        chosen = pick(ready)
        ready.remove(chosen)
        sorter.done(chosen)
        yield chosen
