"""The shape of a route file; each description is also the schema's and the editor's."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

#: Names of torch's dtypes, without ``torch.``.
DType = Literal[
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex32",
    "complex64",
    "complex128",
]

#: Semantic checks give these their own codes, so they are closed in the schema only.
ALIAS_NAMES: Final = ("cuda", "flagos")
ALIAS_TARGET: Final = "device"

DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DAY_WANTED: Final = "a date such as 2026-12-01"

Text = Annotated[str, Field(min_length=1)]
Targets = tuple[Text, ...]
Backends = Annotated[tuple[Text, ...], Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]


def _from_iso(value: object) -> object:
    """YAML gives text for a quoted date, and the source reader keeps a plain one as text."""
    if not isinstance(value, str):
        return value
    # Python 3.11 takes more forms of ISO 8601 than 3.10
    if not DAY.fullmatch(value):
        raise ValueError(DAY_WANTED)
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise ValueError(DAY_WANTED) from error


def _from_backend(value: object) -> object:
    """``aten::mm: vendor`` is short for ``aten::mm: {use: [vendor]}``."""
    return {"use": (value,)} if isinstance(value, str) else value


Day = Annotated[date, BeforeValidator(_from_iso)]


class Model(BaseModel):
    """What all parts have in common; ``noun`` names the part in messages."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    noun: ClassVar[str] = "the route file"


class ProbeEntry(Model):
    """A live probe of torch that the platform redirects."""

    noun: ClassVar[str] = "a probe"
    target: Text = Field(description="dotted name of the probe below `torch.`")
    redirect: Text = Field(description="what answers instead: `device.` and a function of the device's module")


class ConditionEntry(Model):
    """When an alias applies; everything that is named has to hold."""

    noun: ClassVar[str] = "a condition"
    original_false: Targets = Field(
        default=(), description="probes whose answer, given by torch itself, has to be false"
    )
    switch_on: Text | None = Field(default=None, description="environment switch that has to be on")


class AliasEntry(Model):
    """A device name that means the canonical device."""

    noun: ClassVar[str] = "an alias"
    name: Text = Field(description="the name", json_schema_extra={"enum": list(ALIAS_NAMES)})
    to: Text = Field(description="what it means: the canonical device", json_schema_extra={"enum": [ALIAS_TARGET]})
    enabled: bool = Field(default=True, description="false leaves the name to torch")
    when: ConditionEntry = Field(default=ConditionEntry(), description="when the alias applies; always, if left out")
    exclude: Targets = Field(default=(), description="dotted names below `torch.` that stay as they are")


class GuardEntry(Model):
    """What a call has to look like for the route to apply; other calls take the kernel that the device has."""

    noun: ClassVar[str] = "a guard"
    dtypes: Annotated[tuple[DType, ...], Field(min_length=1)] | None = Field(
        default=None, description="dtypes of the tensors"
    )
    min_ndim: Count | None = Field(default=None, description="least number of dimensions")
    max_ndim: Count | None = Field(default=None, description="greatest number of dimensions")
    min_numel: Count | None = Field(default=None, description="least number of elements")
    max_numel: Count | None = Field(default=None, description="greatest number of elements")
    contiguous: bool | None = Field(default=None, description="whether the tensors are contiguous")


class EvidenceEntry(Model):
    """What the route was measured to do; for people, it decides nothing."""

    noun: ClassVar[str] = "the evidence"
    verdict: Literal["STRICT", "BASIC_ONLY", "FAILED", "UNTESTED"] = Field(description="verdict of the survey")
    speedup: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="time of the vendor's kernel over time of this one"
    )
    device: Text | None = Field(default=None, description="device that it was measured on")
    date: Day | None = Field(default=None, description="day of the measurement")


class RouteEntry(Model):
    """Backends for one operator."""

    noun: ClassVar[str] = "a route"
    use: Backends = Field(description="backends in order of preference; the first one that is available is taken")
    guard: GuardEntry | None = Field(default=None, description="which calls the route is for; all, if left out")
    on_failure: Literal["raise", "next", "cpu"] = Field(
        default="raise", description="what follows when the kernel does not exist or does not compile"
    )
    evidence: EvidenceEntry | None = Field(default=None, description="what the route was measured to do")


class OpsEntry(Model):
    """Which backend runs which operator."""

    noun: ClassVar[str] = "'ops'"
    prefer: Backends | None = Field(default=None, description="order of backends for operators without a route")
    routes: dict[
        str, Annotated[RouteEntry, BeforeValidator(_from_backend, json_schema_input_type=Text | RouteEntry)]
    ] = Field(default={}, description="`aten::name.overload`, or `aten::name.*` for each overload, and its backends")
    exclude: Targets = Field(
        default=(),
        description="operators that keep the kernel that is there, whatever `prefer` and routes of `aten::name.*` say",
    )


class PatchEntry(Model):
    """A registered patch, switched on or off."""

    noun: ClassVar[str] = "a patch"
    id: Text = Field(description="id of the patch")
    enabled: bool = Field(default=True, description="whether the patch is installed")


class CapabilityEntry(Model):
    """A fact about the platform that its plugin does not know, or states otherwise."""

    noun: ClassVar[str] = "a capability"
    state: Literal["available", "unavailable", "unknown"] = Field(description="whether it can be relied on")
    source: Text = Field(description="where the fact was read")
    detail: str = Field(default="", description="more about it, for people")


class PlatformEntry(Model):
    """Routes of one platform."""

    noun: ClassVar[str] = "a platform"
    extends: Text | None = Field(default=None, description="entry whose routes this one starts from")
    probes: tuple[ProbeEntry, ...] = Field(default=(), description="live probes that the platform redirects")
    aliases: tuple[AliasEntry, ...] = Field(default=(), description="device names that mean the canonical device")
    ops: OpsEntry = Field(default=OpsEntry(), description="which backend runs which operator")
    patches: tuple[PatchEntry, ...] = Field(default=(), description="registered patches, switched on or off")
    capabilities: dict[str, CapabilityEntry] = Field(default={}, description="facts about the platform, by name")


class RouteFile(Model):
    """Routes of flagos_runtime: what is probed, which names are aliased and which backend runs each operator."""

    version: Literal[1] = Field(description="version of this format")
    platform: Text = Field(default="auto", description="name of a platform, or `auto`; FLAGOS_PLATFORM goes first")
    autoload: Literal["accelerator", "always", "never"] = Field(
        default="accelerator", description="when a bare `import torch` activates: with an accelerator, always or never"
    )
    profile: Literal["full", "minimal"] = Field(
        default="full", description="how much is activated; FLAGOS_STARTUP_PROFILE goes first"
    )
    platforms: dict[str, PlatformEntry] = Field(default={}, description="routes of each platform, by its name")
