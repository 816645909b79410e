"""What the words of upstream conf files mean, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from flagos_runtime.records import Platform

#: Word of a conf -> backend of a route. Words of vendors are not here: each means the kernel that the device has.
#: Upstream's reader of today takes `flaggems` for FlagGems in Python and keeps the older words beside it; an operator
#: with the word `none` is left unregistered there, so that torch's CPU fallback serves it.
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "flaggems": "flaggems",
        "flaggems_python": "flaggems",
        "flagos_python": "flaggems",
        "flaggems_cpp": "flaggems_cpp",
        "flagos": "flaggems_cpp",
        "tileops": "tileops",
        "vendor": "vendor",
        "none": "cpu",
        "cpu": "cpu",
    }
)
#: Backend of a route -> the word that upstream's reader of today has for it.
BACKENDS: Final[Mapping[str, str]] = MappingProxyType(
    {"flaggems": "flaggems", "flaggems_cpp": "flaggems_cpp", "tileops": "tileops", "cpu": "none"}
)
#: Where one of these stands too, `flaggems` once meant the C++ kernels.
OLDER: Final = frozenset({"flagos", "flagos_python", "flaggems_python"})
#: The vendors of upstream's reader.
VENDORS: Final = frozenset({"ascend", "cuda", "gcu", "metax", "musa", "tsingmicro"})


def vendor_words(platforms: Iterable[Platform]) -> frozenset[str]:
    """Return the words that mean the vendor's own kernel: names of platforms, of devices, and FlagGems' of vendors."""
    names = {name for item in platforms for name in (item.name, item.device_type, item.gems_vendor) if name}
    return VENDORS | names - WORDS.keys()


def vendor_word(platform: Platform) -> str:
    """Return the word for the vendor's own kernel on *platform*: `cuda` wherever torch presents the device as CUDA."""
    return "cuda" if platform.device_type == "cuda" else platform.name
