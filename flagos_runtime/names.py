"""What one chip is called in each ecosystem, and whether the environment uses a name that exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError
from flagos_runtime.records import Platform, PlatformKind

GEMS_VENDOR: Final = "GEMS_VENDOR"
#: Vendors of FlagGems main ed2508bc for which there is no platform here: that is no spelling mistake.
OTHER_VENDORS: Final = ("aipu", "amd", "arm", "spacemit")

#: Field of a platform -> what the name is for. A field without a value is one of the platform's lacks.
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "device_type": "torch device",
        "gems_vendor": GEMS_VENDOR,
        "torch_package": "torch plugin",
        "torch_attribute": "attribute of torch",
        "dist_backend": "torch.distributed backend",
        "flagcx_device": "FlagCX device",
        "triton_target": "Triton target",
        "triton_backends": "Triton backend",
        "triton_extras": "triton.language.extra",
        "visible_devices": "visible devices, process",
        "container_devices": "visible devices, container",
        "command": "command",
        "sdk_variables": "SDK variable",
        "sdk_paths": "SDK folder",
    }
)

#: What the names ``cuda`` and ``flagos`` mean, ``{}`` for the canonical device type.
MEANINGS: Final[Mapping[PlatformKind, tuple[str, str]]] = MappingProxyType(
    {
        "cuda": ("itself", "on request"),
        "cuda_shaped": ("itself", "on request"),
        "private_use1": ("{}", "{}"),
        "no_device": ("itself", "nothing"),
        "sim": ("{}", "itself"),
    }
)


def meanings(platform: Platform) -> tuple[str, str]:
    """Return what ``cuda`` and what ``flagos`` mean on *platform*."""
    cuda, flagos = MEANINGS[platform.kind]
    return cuda.format(platform.device_type), flagos.format(platform.device_type)


def name_text(platform: Platform, field: str) -> str:
    """Return the name of *platform* in one ecosystem as text, empty where it has none."""
    value: str | tuple[str, ...] | None = getattr(platform, field)
    return ", ".join(value) if isinstance(value, tuple) else value or ""


def require_vendor(vendor: str, platforms: Sequence[Platform]) -> None:
    """Check the value of ``GEMS_VENDOR``, which is empty where it is not set.

    Raises:
        ConfigError: FlagGems has no such vendor (FR116).
    """
    if vendor and vendor not in _known_vendors(platforms):
        raise ConfigError((_unknown_vendor(vendor, platforms),))


def vendor_warnings(vendor: str, platforms: Sequence[Platform], chosen: Platform | None) -> Iterator[Diagnostic]:
    """Yield a warning where ``GEMS_VENDOR`` contradicts the platform that was *chosen*."""
    if chosen is None or not vendor or chosen.gems_vendor in (None, vendor):
        return
    owner = next((f" (platform '{item.name}')" for item in platforms if item.gems_vendor == vendor), "")
    message = f"'{vendor}'{owner} contradicts platform '{chosen.name}', wanted '{chosen.gems_vendor}'"
    yield Diagnostic("FR116", "warning", GEMS_VENDOR, message, "unset one of GEMS_VENDOR and FLAGOS_PLATFORM")


def _known_vendors(platforms: Sequence[Platform]) -> tuple[str, ...]:
    ours = {item.gems_vendor for item in platforms if item.gems_vendor is not None}
    return tuple(sorted({*ours, *OTHER_VENDORS}))


def _unknown_vendor(vendor: str, platforms: Sequence[Platform]) -> Diagnostic:
    # imported late: needed for a wrong name only
    from difflib import get_close_matches

    known = _known_vendors(platforms)
    named = next((item.gems_vendor for item in platforms if vendor in {item.name, item.device_type}), None)
    close = named or next(iter(get_close_matches(vendor, known, n=1)), None)
    message = f"unknown vendor '{vendor}', known are {', '.join(known)}"
    return Diagnostic("FR116", "error", GEMS_VENDOR, message, f"did you mean '{close}'?" if close else "")
