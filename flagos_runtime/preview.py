"""Facts to a plan: what activation would do here, found without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flagos_runtime.config.environment import Environment
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.facts import Facts, operator_backends
from flagos_runtime.plan import OpDecision, Plan, PlatformRoutes, RouteSet
from flagos_runtime.records import Detection
from flagos_runtime.resolver import resolve

Lookup = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Preview:
    """What activation would do here.

    Attributes:
        facts: what the plan rests on.
        plan: ordered steps with a decision for each; empty where there is no platform.
        findings: what is wrong with the operators of the plan.
    """

    facts: Facts
    plan: Plan
    findings: tuple[Diagnostic, ...] = ()

    @property
    def detection(self) -> Detection:
        """Return the platform and why."""
        return self.facts.detection

    @property
    def routes(self) -> RouteSet | None:
        """Return the route file, ``None`` where none was needed."""
        return self.facts.routes

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what is wrong with environment, plugins and routes."""
        return (*self.facts.diagnostics, *self.findings)


def preview_of(facts: Facts, original: Lookup, answers: Mapping[str, bool | None] | None = None) -> Preview:
    """Return the plan that *facts* lead to; what *original* looks up may need torch, and nothing else does.

    Args:
        facts: platform and routes.
        original: looks a probe up as torch made it.
        answers: the probes' answers, for whoever wants to see what other ones would lead to.

    Raises:
        ResolveError: the routes give no plan.
    """
    # late: a host without a platform needs neither
    from flagos_runtime.integration.catalogue import catalogue, patches_for
    from flagos_runtime.integration.torch_probes import answers_of

    platform = facts.detection.platform
    if platform is None or facts.routes is None:
        return Preview(facts, Plan(platform))
    routes = facts.routes.of(platform.name)
    operators, findings = _operators(routes, facts)
    plan = resolve(
        platform,
        routes,
        catalogue((*patches_for(platform), *facts.plugins.patches.get(platform.name, ()))),
        answers=answers_of(_conditions(routes), original) if answers is None else answers,
        switches=_switches(routes, facts.environment),
        operators=operators,
    )
    return Preview(facts, plan, findings)


def _conditions(routes: PlatformRoutes) -> tuple[str, ...]:
    return tuple(name for alias in routes.aliases for name in alias.when.original_false)


def _switches(routes: PlatformRoutes, environment: Environment) -> dict[str, bool]:
    names = (alias.when.switch_on for alias in routes.aliases)
    return {name: environment.switch(name) for name in names if name}


def _operators(routes: PlatformRoutes, facts: Facts) -> tuple[tuple[OpDecision, ...], tuple[Diagnostic, ...]]:
    backends = operator_backends(facts.plugins)
    # where the first preferred backend serves every operator, the list says nothing about any
    lists_kernels = {*routes.ops_prefer[:1]} & {item.name for item in backends if item.table}
    says = (routes.ops, routes.ops_exclude, lists_kernels, *_op_variables(facts.environment))
    if not any(says):
        return (), ()
    from flagos_runtime.operator_facts import decided_operators  # late: most hosts route no operator

    return decided_operators(routes, facts.environment, backends)


def _op_variables(environment: Environment) -> tuple[object, object]:
    return environment.choice("FLAGOS_FORCE_BACKEND"), environment.family("FLAGOS_OP_")
