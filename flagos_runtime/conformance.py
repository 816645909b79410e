"""What every platform must satisfy, as one named check a fact; for the tests of any distribution that has one.

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_platform_conforms(check):
    assert check(flagos_platform()) is None
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, get_args

from flagos_runtime.hookspecs import CAPABILITIES
from flagos_runtime.names import NAMES
from flagos_runtime.records import Capability, Platform, PlatformKind, ProbeSpec

Check = Callable[[Platform], str | None]

WORD: Final = re.compile(r"[a-z][a-z0-9_]*")
VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
#: What else a platform may lack, besides names.
PROBE_LACKS: Final = ("pci", "driver")
#: Names that have a check of their own.
SEPARATE: Final = ("device_type", "gems_vendor", "visible_devices")
#: Kind -> whether its device type is right.
OWNERS: Final[Mapping[str, Callable[[str | None], bool]]] = MappingProxyType(
    {
        "cuda": lambda device: device == "cuda",
        "cuda_shaped": lambda device: device == "cuda",
        "private_use1": lambda device: bool(device) and device not in {"cuda", "cpu", "flagos"},
        "no_device": lambda device: device is None,
        "sim": lambda device: device == "flagos",
    }
)

# -- the platform ---------------------------------------------------------------------------------------------------


def name_is_valid(platform: Platform) -> str | None:
    """The name is a key of route files."""
    return None if WORD.fullmatch(platform.name) else f"'{platform.name}' is not a lower-case word"


def has_title(platform: Platform) -> str | None:
    """There is a title for people."""
    return None if platform.title.strip() else "the title is empty"


def kind_is_known(platform: Platform) -> str | None:
    """The kind is one that the runtime knows."""
    kinds = get_args(PlatformKind)
    return None if platform.kind in kinds else f"kind '{platform.kind}' is none of {', '.join(kinds)}"


def device_type_matches_kind(platform: Platform) -> str | None:
    """The kind says whose device it is: torch's cuda, ours, the vendor's, or nobody's."""
    fits = OWNERS.get(platform.kind)
    if fits is None or fits(platform.device_type):
        return None
    return f"kind '{platform.kind}' does not go with device type '{platform.device_type}'"


# -- names ----------------------------------------------------------------------------------------------------------


def gems_vendor_known(platform: Platform) -> str | None:
    """FlagGems' name of the vendor is given, or why there is none."""
    return _missing(platform, ["gems_vendor"])


def visible_devices_listed(platform: Platform) -> str | None:
    """The variables that select devices are listed, or why there are none."""
    wrong = [name for name in platform.visible_devices if not VARIABLE.fullmatch(name)]
    return f"not a variable: {', '.join(wrong)}" if wrong else _missing(platform, ["visible_devices"])


def names_complete(platform: Platform) -> str | None:
    """Every other ecosystem's name is given, or why there is none."""
    return _missing(platform, [name for name in NAMES if name not in SEPARATE])


def names_have_source(platform: Platform) -> str | None:
    """It is said where the names were read."""
    return None if platform.names_source or platform.kind == "sim" else "'names_source' is empty"


def lacks_are_true(platform: Platform) -> str | None:
    """A lack has a reason, and what is said to be missing is missing."""
    for lack in platform.lacks:
        if lack.name not in {*NAMES, *PROBE_LACKS}:
            return f"'{lack.name}' is nothing that can be lacking"
        if not lack.reason:
            return f"no reason says why '{lack.name}' is lacking"
        if getattr(platform, lack.name, None):
            return f"'{lack.name}' is said to be lacking and has a value"
    return None


# -- probes ---------------------------------------------------------------------------------------------------------


def probes_have_presence(platform: Platform) -> str | None:
    """The card is looked for by a path and on the PCI bus, or it is said why not."""
    kinds = {item.kind for item in platform.probes if item.presence}
    missing = [kind for kind in ("path", "pci") if kind not in kinds and not _lacks(platform, kind)]
    return f"no presence probe of kind {', '.join(missing)}" if missing and platform.detectable else None


def driver_is_required(platform: Platform) -> str | None:
    """A card without its driver library is not usable."""
    return _unless_required(platform, "driver", lambda item: item.kind == "library" or _is_other_path(item))


def torch_build_is_required(platform: Platform) -> str | None:
    """A card without the torch that serves it is not usable."""
    if platform.device_type is None:
        return None
    return _unless_required(platform, "torch", lambda item: item.kind in {"module", "torch"})


def torch_package_is_probed(platform: Platform) -> str | None:
    """The torch plugin that the platform names is the one that is looked for."""
    asked = [name for item in platform.probes if item.kind == "module" for name in item.subjects]
    if not asked or not platform.torch_package or platform.torch_package in asked:
        return None
    return f"'{platform.torch_package}' is not looked for, but {', '.join(asked)}"


def probes_are_named(platform: Platform) -> str | None:
    """A probe's override variable says whose it is, and no two share one."""
    names = [item.name for item in platform.probes]
    if len(names) != len(set(names)):
        return "two probes have one name"
    wrong = [name for name in names if platform.name and not name.startswith(f"{platform.name}_")]
    return f"not named after the platform: {', '.join(wrong)}" if wrong else None


def probes_have_subjects(platform: Platform) -> str | None:
    """A probe looks for something."""
    return _named(item.name for item in platform.probes if not (item.subjects and all(item.subjects)))


def probes_have_source(platform: Platform) -> str | None:
    """It is said where each probe was read."""
    return _named(item.name for item in platform.probes if not item.source)


# -- capabilities ---------------------------------------------------------------------------------------------------


def capability_names_known(platform: Platform) -> str | None:
    """No capability is outside of the matrix or named twice."""
    names = [item.name for item in platform.capabilities]
    return _named(name for name in names if name not in CAPABILITIES or names.count(name) > 1)


def capabilities_complete(platform: Platform) -> str | None:
    """Every capability of the matrix is spoken about."""
    return _named(set(CAPABILITIES) - {item.name for item in platform.capabilities})


def capabilities_are_declared(platform: Platform) -> str | None:
    """A plugin measures nothing, so it declares."""
    return _capabilities(platform, lambda item: item.evidence == "declared")


def capabilities_have_source(platform: Platform) -> str | None:
    """It is said where each capability was read."""
    return _capabilities(platform, lambda item: bool(item.source))


def unknown_capabilities_have_detail(platform: Platform) -> str | None:
    """A fact that is not known comes with what it depends on."""
    return _capabilities(platform, lambda item: item.state != "unknown" or bool(item.detail))


CHECKS: Final[tuple[Check, ...]] = (
    name_is_valid,
    has_title,
    kind_is_known,
    device_type_matches_kind,
    gems_vendor_known,
    visible_devices_listed,
    names_complete,
    names_have_source,
    lacks_are_true,
    probes_have_presence,
    driver_is_required,
    torch_build_is_required,
    torch_package_is_probed,
    probes_are_named,
    probes_have_subjects,
    probes_have_source,
    capability_names_known,
    capabilities_complete,
    capabilities_are_declared,
    capabilities_have_source,
    unknown_capabilities_have_detail,
)


def failures(platform: Platform) -> dict[str, str]:
    """Return the reason of each check that *platform* fails, by the check's name."""
    answers = ((check.__name__, check(platform)) for check in CHECKS)
    return {name: reason for name, reason in answers if reason is not None}


# -- what checks share ----------------------------------------------------------------------------------------------


def _lacks(platform: Platform, name: str) -> bool:
    return any(item.name == name for item in platform.lacks)


def _missing(platform: Platform, names: Iterable[str]) -> str | None:
    if platform.kind == "sim":
        return None  # no vendor stands behind it
    missing = _named(name for name in names if not getattr(platform, name) and not _lacks(platform, name))
    return f"neither given nor among the lacks: {missing}" if missing else None


def _named(names: Iterable[str]) -> str | None:
    return ", ".join(sorted(names)) or None


def _capabilities(platform: Platform, holds: Callable[[Capability], bool]) -> str | None:
    return _named(item.name for item in platform.capabilities if not holds(item))


def _is_other_path(probe: ProbeSpec) -> bool:
    return probe.kind == "path" and not probe.presence


def _unless_required(platform: Platform, what: str, fits: Callable[[ProbeSpec], bool]) -> str | None:
    """Return a reason unless a required probe *fits*; without any probe at all another check speaks."""
    required = [item for item in platform.probes if item.required]
    if not platform.probes or not platform.detectable or _lacks(platform, what) or any(map(fits, required)):
        return None
    return f"no required probe looks for the {what}"
