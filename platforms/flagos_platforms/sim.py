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
    "profiler",
)
AUTOCAST: Final = "autocast passes the device by: results keep the type of their operands"
NO_GROUP: Final = "no process-group backend takes its tensors"
INSTALLED: Final = "depends on what is installed; `flagos-runtime check --deep` measures it"

LIMITS: Final = (
    Capability("amp.fp16", "unavailable", "declared", AUTOCAST, SOURCE),
    Capability("amp.bf16", "unavailable", "declared", AUTOCAST, SOURCE),
    Capability("distributed", "unavailable", "declared", NO_GROUP, SOURCE),
    Capability("triton", "unknown", "declared", INSTALLED, SOURCE),
    Capability("flaggems", "unknown", "declared", INSTALLED, SOURCE),
)


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
            *LIMITS,
        ),
        detectable=False,
    )
