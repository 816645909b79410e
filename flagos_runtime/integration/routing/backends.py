"""The backends that an operator route may name."""

from __future__ import annotations

from typing import Final

#: Name -> what serves the overload.
BACKENDS: Final = {
    "vendor": "the kernel that the device has",
    "cpu": "the CPU kernel on host copies, counted",
    "none": "no kernel: calls raise and name the route",
    "flaggems": "the Triton kernel of FlagGems",
    "flaggems_cpp": "the C++ kernel of FlagGems",
    "tileops": "the kernel of TileOPs",
}
