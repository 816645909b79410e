"""The documents that the command line prints, and the JSON Schema of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Final, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from flagos_runtime.diagnostics import Severity
from flagos_runtime.plan import DecisionState, OnFailure
from flagos_runtime.records import ActivationState, Evidence, State, StepKind

SCHEMA_VERSION: Final = 1


class MachineEntry(TypedDict):
    """The machine and the interpreter."""

    timestamp: Annotated[str, "when the report was made, ISO 8601, UTC"]
    python: str
    torch: Annotated[str | None, "version of the installed torch; null where none is installed"]
    machine: str
    os: str


class HostEntry(MachineEntry):
    """The machine and the interpreter."""

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
    """The outcome for one step."""

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
    """What was decided for one overload."""

    name: str
    backend: Annotated[str | None, "first available backend; null where the kernel that is there stays"]
    reason: Annotated[str, "why; where no backend is available, what each of them lacks"]
    where: Annotated[str, "place or variable that decided"]


class OpsEntry(TypedDict):
    """Operators about which a route, a list or a variable says something."""

    counts: Annotated[dict[str, int], "number of overloads by the backend that serves them"]
    overrides: Annotated[list[OpEntry], "overloads that a variable decided"]
    unavailable: Annotated[list[OpEntry], "overloads that no backend of theirs can serve, with the reason"]


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


class ChoiceEntry(TypedDict):
    """One backend that was considered for an overload."""

    backend: str
    available: bool
    reason: str


class OperatorEntry(TypedDict):
    """What serves one overload, and who decided."""

    overload: str
    backends: list[str]
    choices: list[ChoiceEntry]
    where: str
    reason: str
    overruled: list[str]
    on_failure: OnFailure
    guard: dict[str, object]
    evidence: dict[str, object] | None


class PlanReport(TypedDict):
    """What `flagos-runtime plan --json` prints."""

    schema_version: Literal[1]
    platform: PlatformEntry
    routes: str
    steps: list[StepEntry]
    left_out: list[LeftOutEntry]
    operators: list[OperatorEntry]
    diagnostics: list[DiagnosticEntry]


_JSON_TYPES: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_FOUND: Final[Mapping[type, str]] = {**_JSON_TYPES, list: "array", dict: "object"}  # type: ignore[dict-item]


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
    # what is made by a call instead of a class statement has no sentence of its own
    words = {"description": kind.__doc__} if kind.__doc__ else {}
    return {
        "type": "object",
        **words,
        "properties": {name: json_schema(hint) for name, hint in hints.items()},
        "required": _required(kind),
        "additionalProperties": False,
    }


def _required(kind: object) -> list[str]:
    required: frozenset[str] = getattr(kind, "__required_keys__", frozenset())
    return [name for name in get_type_hints(kind) if name in required]


def mismatches(value: object, kind: object, where: str = "") -> Iterator[str]:
    """Yield a clause for each place in which *value* is not what `json_schema` of *kind* describes."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from mismatches(value, arguments[0], where)
    elif origin in (Union, UnionType):
        found = [tuple(mismatches(value, item, where)) for item in arguments]
        yield from () if () in found else found[0]
    elif origin is Literal:
        if not any(value == item and type(value) is type(item) for item in arguments):
            yield f"{_place(where)} is {value!r}, wanted {' or '.join(map(repr, arguments))}"
    elif origin is list and isinstance(value, list):
        for index, item in enumerate(value):
            yield from mismatches(item, arguments[0], _below(where, index))
    elif origin is dict and isinstance(value, dict):
        for name, item in value.items():
            yield from mismatches(item, arguments[1], _below(where, name))
    elif is_typeddict(kind) and isinstance(value, dict):
        yield from _object_mismatches(value, kind, where)
    else:
        wanted = _JSON_TYPES.get(kind) or ("array" if origin is list else "object")
        if type(value) is not kind and not (kind is float and type(value) is int):
            yield f"{_place(where)} is of type {_FOUND.get(type(value), type(value).__name__)}, wanted {wanted}"


def _object_mismatches(value: Mapping[str, object], kind: object, where: str) -> Iterator[str]:
    hints = get_type_hints(kind, include_extras=True)
    yield from (f"{_place(_below(where, name))} is missing" for name in _required(kind) if name not in value)
    for name, item in value.items():
        if name in hints:
            yield from mismatches(item, hints[name], _below(where, name))
        else:
            yield f"{_place(_below(where, name))} is unknown"


def _below(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _place(where: str) -> str:
    return f"'{where}'" if where else "the document"
