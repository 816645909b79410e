"""The backends that an operator route may name."""

from __future__ import annotations

from typing import Final

from flagos_runtime.records import OpBackend

_HERE: Final = "flagos_runtime.integration.routing"

#: Backends of this runtime; plugins may bring more.
BACKENDS: Final = (
    OpBackend("vendor", "the kernel that the device has"),
    OpBackend("cpu", "the CPU kernel on host copies, counted"),
    OpBackend("none", "no kernel: calls raise and name the route"),
    OpBackend(
        "flaggems",
        "the Triton kernel of FlagGems",
        f"{_HERE}.gems_table:table",
        f"{_HERE}.flaggems:kernel",
        # Triton 3.6 has no complex type (triton/language/core.py, `dtype`)
        ("complex32", "complex64", "complex128"),
    ),
    OpBackend("flaggems_cpp", "the C++ kernel of FlagGems", f"{_HERE}.gems_table:cpp_table"),
    OpBackend("tileops", "the kernel of TileOPs", f"{_HERE}.gems_table:tileops_table"),
)
