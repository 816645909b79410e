"""The embedded device over host memory, for machines without an accelerator."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import hookimpl
from flagos_runtime.records import Capability, Platform

SOURCE: Final = "tests of this project"
AVAILABLE: Final = (
    "eager",
    "autograd",
    "fp64",
    "int64",
    "complex",
    "compile",
    "rng",
    "streams",
    "memory_stats",
)
NOT_CAST: Final = "autocast regions are accepted, but no operator is cast in them"
UNKNOWN: Final = ("triton", "flaggems", "distributed", "profiler")


@hookimpl
def flagos_platform() -> Platform:
    """Describe the embedded device, which is chosen by name only."""
    return Platform(
        name="sim",
        title="embedded device over host memory",
        kind="sim",
        device_type="flagos",
        capabilities=(
            *(Capability(name, "available", "declared", source=SOURCE) for name in AVAILABLE),
            *(Capability(name, "unavailable", "declared", NOT_CAST, SOURCE) for name in ("amp.fp16", "amp.bf16")),
            *(Capability(name, "unknown", "declared", "no test covers it yet", SOURCE) for name in UNKNOWN),
        ),
        detectable=False,
    )
