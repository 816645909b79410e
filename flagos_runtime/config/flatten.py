"""Validated models as records, with what `extends` names merged in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import TypeVar

from flagos_runtime.config.inheritance import ancestry
from flagos_runtime.config.models import (
    AliasEntry,
    CapabilityEntry,
    EvidenceEntry,
    GuardEntry,
    PatchEntry,
    PlatformEntry,
    ProbeEntry,
    RouteEntry,
    RouteFile,
)
from flagos_runtime.config.patterns import canonical
from flagos_runtime.config.source import Document, Steps
from flagos_runtime.plan import (
    AliasRoute,
    Condition,
    OpExclusion,
    OpRoute,
    PatchRoute,
    PlatformRoutes,
    ProbeRoute,
    RouteEvidence,
)
from flagos_runtime.records import Capability

Record = TypeVar("Record")


def flattened(file: RouteFile, document: Document, platforms: Collection[str]) -> Mapping[str, PlatformRoutes]:
    """Return the routes of each entry that is one of *platforms*; the others are there to be extended."""
    parents = {name: entry.extends for name, entry in file.platforms.items()}
    own = {name: _own(name, entry, document) for name, entry in file.platforms.items()}
    return MappingProxyType(
        {name: _complete([own[step] for step in ancestry(name, parents)]) for name in own if name in platforms}
    )


def _complete(line: list[PlatformRoutes]) -> PlatformRoutes:
    """Merge an entry with its ancestors, given from the entry up."""
    merged = reduce(_merged, reversed(line))
    return merged if merged.ops_prefer else replace(merged, ops_prefer=PlatformRoutes("").ops_prefer)


def _merged(parent: PlatformRoutes, child: PlatformRoutes) -> PlatformRoutes:
    return PlatformRoutes(
        name=child.name,
        probes=_replaced(parent.probes, child.probes, lambda item: item.target),
        aliases=_replaced(parent.aliases, child.aliases, lambda item: item.name),
        ops_prefer=child.ops_prefer or parent.ops_prefer,
        ops=_replaced(parent.ops, child.ops, lambda item: canonical(item.pattern)),
        ops_exclude=_replaced(parent.ops_exclude, child.ops_exclude, lambda item: canonical(item.pattern)),
        ops_prefer_where=(child if child.ops_prefer else parent).ops_prefer_where,
        patches=_replaced(parent.patches, child.patches, lambda item: item.id),
        capabilities=_replaced(parent.capabilities, child.capabilities, lambda item: item.name),
    )


def _replaced(
    inherited: tuple[Record, ...], own: tuple[Record, ...], key: Callable[[Record], str]
) -> tuple[Record, ...]:
    """Return the inherited records, with own ones in the place of those of the same key, and the other own ones."""
    return tuple({key(item): item for item in (*inherited, *own)}.values())


# -- one entry ------------------------------------------------------------------------------------------------------


def _own(name: str, entry: PlatformEntry, document: Document) -> PlatformRoutes:
    def where(*steps: str | int) -> str:
        return document.where(("platforms", name, *steps))

    def key(*steps: str) -> str:
        return document.page.where(document.keys[_steps("platforms", name, *steps)])

    return PlatformRoutes(
        name=name,
        probes=tuple(_probe(item, where("probes", index)) for index, item in enumerate(entry.probes)),
        aliases=tuple(_alias(item, where("aliases", index)) for index, item in enumerate(entry.aliases)),
        # empty where the entry says nothing, so that a parent's order is kept
        ops_prefer=entry.ops.prefer or (),
        ops=tuple(_op(pattern, item, key("ops", "routes", pattern)) for pattern, item in entry.ops.routes.items()),
        ops_exclude=tuple(
            OpExclusion(pattern, where("ops", "exclude", index)) for index, pattern in enumerate(entry.ops.exclude)
        ),
        ops_prefer_where=where("ops", "prefer") if entry.ops.prefer else "",
        patches=tuple(_patch(item, where("patches", index)) for index, item in enumerate(entry.patches)),
        capabilities=tuple(_capability(title, item) for title, item in entry.capabilities.items()),
    )


def _steps(*steps: str | int) -> Steps:
    return steps


def _probe(item: ProbeEntry, where: str) -> ProbeRoute:
    return ProbeRoute(item.target, item.redirect, where)


def _alias(item: AliasEntry, where: str) -> AliasRoute:
    return AliasRoute(
        name=item.name,
        to="device",
        where=where,
        enabled=item.enabled,
        when=Condition(item.when.original_false, item.when.switch_on),
        exclude=item.exclude,
    )


def _op(pattern: str, item: RouteEntry, where: str) -> OpRoute:
    return OpRoute(pattern, item.use, where, item.on_failure, _guard(item.guard), _evidence(item.evidence))


def _evidence(item: EvidenceEntry | None) -> RouteEvidence | None:
    if item is None:
        return None
    return RouteEvidence(item.verdict, item.speedup, item.device, item.date.isoformat() if item.date else None)


def _guard(item: GuardEntry | None) -> Mapping[str, object]:
    return MappingProxyType({} if item is None else item.model_dump(exclude_none=True))


def _patch(item: PatchEntry, where: str) -> PatchRoute:
    return PatchRoute(item.id, item.enabled, where)


def _capability(name: str, item: CapabilityEntry) -> Capability:
    return Capability(name, item.state, "declared", item.detail, item.source)
