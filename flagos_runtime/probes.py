"""Run probes: put a platform's questions to a host view and say what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from flagos_runtime.host import HostView
from flagos_runtime.records import ProbeResult, ProbeSpec

OVERRIDE_PREFIX: Final = "FLAGOS_OVERRIDE_"
#: Display controllers, processors, processing accelerators. Not 02: Huawei's and Alibaba's network cards have that
#: class, and share the vendor id with their accelerators.
ACCELERATOR_CLASSES: Final = ("03", "0b", "12")

#: (value, words for people) of what was found for one subject.
Found = tuple[str, str]


def override_name(probe: str) -> str:
    """Return the environment name that overrides *probe*."""
    return OVERRIDE_PREFIX + probe.upper()


def run_probes(specs: Iterable[ProbeSpec], host: HostView) -> tuple[ProbeResult, ...]:
    """Run the probes of one platform; one that raises is ``unknown`` with the reason and does not stop the others.

    Where no probe finds the card, the rest has no bearing and is not asked: looking a library up costs more than all
    the others together.
    """
    asked = tuple(specs)
    cards = {spec.name: _isolated(spec, host) for spec in asked if spec.presence}
    bare = bool(cards) and all(result.state == "unavailable" for result in cards.values())
    return tuple(cards.get(spec.name) or (_unasked(spec, host) if bare else _isolated(spec, host)) for spec in asked)


def _unasked(spec: ProbeSpec, host: HostView) -> ProbeResult:
    if override_name(spec.name) in host.environment:
        return _isolated(spec, host)
    return ProbeResult(spec.name, "unknown", "not asked, since no card was found")


def run_probe(spec: ProbeSpec, host: HostView) -> ProbeResult:
    """Answer one probe, from its override where the environment has one.

    Raises whatever the host view raises, except ``OSError``, which makes the answer ``unknown``.
    """
    started = time.perf_counter()
    forced = host.environment.get(override_name(spec.name))
    result = _probed(spec, host) if forced is None else _overridden(spec, forced)
    return replace(result, elapsed_s=time.perf_counter() - started)


def _isolated(spec: ProbeSpec, host: HostView) -> ProbeResult:
    started = time.perf_counter()
    try:
        return run_probe(spec, host)
    except Exception as exc:  # noqa: BLE001 - the named border: whatever a probe does, detection goes on
        result = ProbeResult(spec.name, "unknown", _unanswered(spec, exc))
        return replace(result, elapsed_s=time.perf_counter() - started)


def _overridden(spec: ProbeSpec, forced: str) -> ProbeResult:
    name = override_name(spec.name)
    if forced == "":
        return ProbeResult(spec.name, "unavailable", f"{name} is empty, which means absent", overridden=True)
    return ProbeResult(spec.name, "available", f"{name} is '{forced}'", value=forced, overridden=True)


def _probed(spec: ProbeSpec, host: HostView) -> ProbeResult:
    refused: list[OSError] = []
    for answer in _answers(spec, host):
        if isinstance(answer, OSError):
            refused.append(answer)
        elif answer is not None:
            value, words = answer
            return ProbeResult(spec.name, "available", f"looked for {_either(spec)}, found {words}", value=value)
    if refused:
        return ProbeResult(spec.name, "unknown", _unanswered(spec, refused[0]))
    return ProbeResult(spec.name, "unavailable", ABSENT[spec.kind].format(_either(spec)))


def _answers(spec: ProbeSpec, host: HostView) -> Iterator[Found | OSError | None]:
    """Yield the answer for each subject; a refusal is an answer, since a later subject may still be found."""
    for subject in spec.subjects:
        try:
            yield FINDERS[spec.kind](subject, host)
        except OSError as exc:
            yield exc


def _find_path(pattern: str, host: HostView) -> Found | None:
    return _first(host.glob(pattern))


def _find_pci(vendor: str, host: HostView) -> Found | None:
    found = [item for item in host.pci_vendors() if item.vendor == vendor.lower() and _is_accelerator(item.class_)]
    if not found:
        return None
    ids = f"{found[0].vendor}:{found[0].device}".replace("0x", "")
    return ids, f"pci {ids} at {found[0].address}{_more(found)}"


def _find_library(name: str, host: HostView) -> Found | None:
    path = host.library(name)
    return None if path is None else (path, path)


def _find_module(name: str, host: HostView) -> Found | None:
    version = host.module(name)
    return None if version is None else (version, f"{name} {version}".rstrip())


def _find_torch(subject: str, host: HostView) -> Found | None:
    name, _, pattern = subject.partition("=")
    value = host.torch_fact(name)
    if value is None or (pattern and not fnmatchcase(value, pattern)):
        return None
    return value, f"{name} {value}"


FINDERS: Final[Mapping[str, Callable[[str, HostView], Found | None]]] = MappingProxyType(
    {"path": _find_path, "pci": _find_pci, "library": _find_library, "module": _find_module, "torch": _find_torch}
)
ABSENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "path": "nothing matches {}",
        "pci": "no accelerator of PCI vendor {} is there",
        "library": "{} is not there",
        "module": "the Python module {} is not installed",
        "torch": "torch was built without {}",
    }
)


def _first(paths: tuple[str, ...]) -> Found | None:
    return (paths[0], f"{paths[0]}{_more(paths)}") if paths else None


def _more(found: Sized) -> str:
    return f" and {len(found) - 1} more" if len(found) > 1 else ""


def _is_accelerator(class_: str) -> bool:
    return class_.removeprefix("0x").startswith(ACCELERATOR_CLASSES)


def _either(spec: ProbeSpec) -> str:
    words = " or ".join(spec.subjects)
    return words.replace("=", " like ") if spec.kind == "torch" else words


def _unanswered(spec: ProbeSpec, exc: Exception) -> str:
    return f"could not look for {_either(spec)}: {type(exc).__name__}: {exc}"
