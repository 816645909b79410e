"""What is wrong with the records of a plugin, so that it does not surface in a later stage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from flagos_runtime.records import Capability, OpBackend, Platform, ProbeSpec

#: What ``routes.yaml`` takes for "detect it" and so cannot be a platform.
RESERVED_NAMES: Final = frozenset({"auto"})
NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def platform_faults(platform: Platform) -> Iterator[str]:
    """Name what a type checker would have found in *platform*."""
    if platform.name in RESERVED_NAMES or not NAME.fullmatch(platform.name):
        yield f"'{platform.name}' cannot be a platform's name, wanted lower-case letters, digits and '_'"
    foreign = (
        *_foreign("probes", platform.probes, ProbeSpec),
        *_foreign("capabilities", platform.capabilities, Capability),
    )
    yield from foreign
    for probe in () if foreign else platform.probes:
        if not _is_filled_tuple(probe.subjects):
            yield f"probe '{probe.name}' has the subjects {probe.subjects!r}, wanted a tuple with one or more"


def backend_faults(backend: OpBackend) -> Iterator[str]:
    """Name what keeps *backend* from serving an overload."""
    if not NAME.fullmatch(backend.name):
        yield f"'{backend.name}' cannot be a backend's name, wanted lower-case letters, digits and '_'"
    if backend.table and not FUNCTION.fullmatch(backend.table):
        yield f"backend '{backend.name}' has the table '{backend.table}', wanted 'module:function' or nothing"
    if not FUNCTION.fullmatch(backend.kernel):
        yield f"backend '{backend.name}' has the kernel '{backend.kernel}', wanted 'module:function'"


def _foreign(field_name: str, items: Iterable[object], wanted: type) -> Iterator[str]:
    for item in items:
        if not isinstance(item, wanted):
            yield f"'{field_name}' holds {type(item).__name__}, wanted {wanted.__name__}"


def _is_filled_tuple(value: object) -> bool:
    return isinstance(value, tuple) and bool(value)
