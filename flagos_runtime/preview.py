"""Facts to a plan: what activation would do here, found without changing anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flagos_runtime.config.environment import read_environment
from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.facts import Facts
from flagos_runtime.plan import Plan, PlatformRoutes, RouteSet
from flagos_runtime.records import Detection
from flagos_runtime.resolver import resolve

Lookup = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Preview:
    """What activation would do here.

    Attributes:
        facts: what the plan rests on.
        plan: ordered steps with a decision for each; empty where there is no platform.
    """

    facts: Facts
    plan: Plan

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
        return self.facts.diagnostics


def preview_of(facts: Facts, original: Lookup, answers: Mapping[str, bool | None] | None = None) -> Preview:
    """Return the plan that *facts* lead to; torch has to be loaded where there is a platform.

    Args:
        facts: platform and routes.
        original: looks a probe up as torch made it.
        answers: the probes' answers, for whoever wants to see what other ones would lead to.

    Raises:
        ResolveError: the routes give no plan.
    """
    # late: integration is reached from inside functions alone
    from flagos_runtime.integration.catalogue import catalogue
    from flagos_runtime.integration.torch_probes import answers_of

    platform = facts.detection.platform
    if platform is None or facts.routes is None:
        return Preview(facts, Plan(platform))
    routes = facts.routes.of(platform.name)
    plan = resolve(
        platform,
        routes,
        catalogue(facts.plugins.patches.get(platform.name, ())),
        answers=answers_of(_conditions(routes), original) if answers is None else answers,
        switches=_switches(routes),
    )
    return Preview(facts, plan)


def _conditions(routes: PlatformRoutes) -> tuple[str, ...]:
    return tuple(name for alias in routes.aliases for name in alias.when.original_false)


def _switches(routes: PlatformRoutes) -> dict[str, bool]:
    environment = read_environment(os.environ)
    names = (alias.when.switch_on for alias in routes.aliases)
    return {name: environment.switch(name) for name in names if name}
