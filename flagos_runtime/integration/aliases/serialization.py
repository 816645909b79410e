"""Files whose storages are tagged with CUDA load onto the canonical device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from flagos_runtime.integration.aliases.names import Names
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

# Below every priority that torch uses (10 and up, lower goes first), and no whole number: torch sorts its registry and
# would compare the functions of two packages of one priority.
_PRIORITY = 9.5


def install(context: Context, step: StepSpec) -> None:
    """Put a package for CUDA's tags before torch's own."""
    package = (_PRIORITY, _no_tag, _deserializer(context.names(step)))
    registry: Any = torch.serialization._package_registry  # a list of rows, whose type is invariant
    context.ledger.insert(registry, 0, package, by=step.id, label="torch.serialization._package_registry")


def _no_tag(storage: object) -> None:
    """Leave tagging to torch: a tensor on the canonical device is saved under its own name."""


def _deserializer(names: Names) -> Any:
    def deserialize(storage: Any, location: str) -> Any:
        target = names.device(location)
        if target == location or not isinstance(target, str):
            return None
        return torch.serialization.default_restore_location(storage, target)

    return deserialize
