"""The documents that the command line prints, and the JSON Schema of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Final, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from flagos_runtime.diagnostics import Severity
from flagos_runtime.plan import DecisionState
from flagos_runtime.records import ActivationState, Evidence, State, StepKind

SCHEMA_VERSION: Final = 1


class HostEntry(TypedDict):
    """The machine and the interpreter."""

    timestamp: Annotated[str, "when the report was made, ISO 8601, UTC"]
    python: str
    torch: Annotated[str | None, "version of the installed torch; null where none is installed"]
    machine: str
    os: str
    environment: Annotated[dict[str, str], "variables of this runtime that are set"]


#: Stands where this could not be told.
UNKNOWN_HOST: Final[HostEntry] = {
    "timestamp": "unknown",
    "python": "unknown",
    "torch": None,
    "machine": "unknown",
    "os": "unknown",
    "environment": {},
}


class PlatformEntry(TypedDict):
    """The accelerator platform that was chosen."""

    name: Annotated[str | None, "null where no platform was found"]
    device_type: Annotated[str | None, "the canonical device type of torch"]
    why: Annotated[list[str], "one line a candidate, the chosen one first"]


class ActivationEntry(TypedDict):
    """Whether the runtime is at work in the process."""

    state: ActivationState
    reason: str


class ProbeEntry(TypedDict):
    """Torch's own answer of one probe beside what it answers now."""

    name: str
    original: str
    live: str
    redirected_by: str
    state: Literal["stock", "redirected", "drifted"]
    writers: Annotated[list[str], "everybody who wrote the probe, in order"]


class ApiCounts(TypedDict):
    """How many APIs of an alias are treated in which way."""

    same: int
    emulated: int
    refused: int


class AliasEntry(TypedDict):
    """One device name that may mean another device."""

    name: str
    to: str
    state: Literal["active", "inactive"]
    reason: str
    apis: ApiCounts


class PatchEntry(TypedDict):
    """The outcome for one step that is not an op route."""

    id: str
    target: str
    state: DecisionState
    reason: str
    order: Annotated[int | None, "place in the plan; null where the step is not part of it"]


class CapabilityEntry(TypedDict):
    """One fact about the platform; `unknown` must not be relied on."""

    name: str
    state: State
    evidence: Evidence
    detail: str


class OpEntry(TypedDict):
    """The outcome for one op route."""

    name: str
    state: DecisionState
    reason: str
    where: str


class OpsEntry(TypedDict):
    """Op routes: how many by state, and which."""

    counts: Annotated[dict[str, int], "number of op routes by state"]
    overrides: Annotated[list[OpEntry], "routes that are in force"]
    unavailable: Annotated[list[OpEntry], "routes that are not in force, with the reason"]


class DiagnosticEntry(TypedDict):
    """One finding."""

    code: str
    severity: Severity
    where: str
    message: str
    hint: str


class Report(TypedDict):
    """What `flagos-runtime check --json` prints."""

    schema_version: Literal[1]
    host: HostEntry
    platform: PlatformEntry
    activation: ActivationEntry
    probes: list[ProbeEntry]
    aliases: list[AliasEntry]
    patches: list[PatchEntry]
    capabilities: list[CapabilityEntry]
    ops: OpsEntry
    diagnostics: list[DiagnosticEntry]


class LeftOutEntry(TypedDict):
    """One thing that was considered and is not part of the plan."""

    id: str
    target: str
    state: DecisionState
    reason: str
    where: str


class StepEntry(LeftOutEntry):
    """One step of a plan."""

    order: int
    kind: StepKind
    after: list[str]
    reversible: bool
    summary: str


class PlanReport(TypedDict):
    """What `flagos-runtime plan --json` prints."""

    schema_version: Literal[1]
    platform: PlatformEntry
    routes: str
    steps: list[StepEntry]
    left_out: list[LeftOutEntry]
    diagnostics: list[DiagnosticEntry]


_JSON_TYPES: Final[Mapping[object, str]] = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def json_schema(kind: object) -> dict[str, object]:
    """Return the JSON Schema of a type that is made of the types used above."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**json_schema(arguments[0]), "description": arguments[1]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [json_schema(item) for item in arguments]}
    if origin is list:
        return {"type": "array", "items": json_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": json_schema(arguments[1])}
    return _object_schema(kind) if is_typeddict(kind) else {"type": _JSON_TYPES[kind]}


def _object_schema(kind: object) -> dict[str, object]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        "type": "object",
        "description": kind.__doc__,
        "properties": {name: json_schema(hint) for name, hint in hints.items()},
        "required": list(hints),
        "additionalProperties": False,
    }
