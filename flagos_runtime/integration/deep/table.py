"""Which capability is tried by which exercise, in the order in which they run."""

from __future__ import annotations

from typing import Final

from flagos_runtime.integration.deep.exercise import Exercise

_HERE: Final = "flagos_runtime.integration.deep"

EXERCISES: Final = (
    Exercise("eager", f"{_HERE}.numbers:eager"),
    Exercise("autograd", f"{_HERE}.numbers:autograd"),
    Exercise("amp.fp16", f"{_HERE}.numbers:amp_fp16"),
    Exercise("amp.bf16", f"{_HERE}.numbers:amp_bf16"),
    Exercise("fp64", f"{_HERE}.numbers:fp64"),
    Exercise("int64", f"{_HERE}.numbers:int64"),
    Exercise("complex", f"{_HERE}.numbers:complex_numbers"),
    Exercise("rng", f"{_HERE}.services:rng"),
    Exercise("streams", f"{_HERE}.services:streams"),
    Exercise("memory_stats", f"{_HERE}.services:memory_stats"),
    Exercise("profiler", f"{_HERE}.services:profiler"),
    # a compiler that has cached nothing needs more than half a minute for its first program
    Exercise("compile", f"{_HERE}.packages:compiled", patience=3),
    Exercise("distributed", f"{_HERE}.packages:distributed", alone=True),
    Exercise("triton", f"{_HERE}.packages:triton", alone=True),
    Exercise("flaggems", f"{_HERE}.packages:flaggems", alone=True),
)
