"""`torch.device` and `torch.Generator` as classes that read the alias, and whose instances are genuine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.aliases.names import STOCK_DEVICE
from flagos_runtime.integration.classes import standing_for

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install(context: Context, step: StepSpec) -> None:
    """Put a class at ``torch.device`` that makes canonical devices of the alias's."""
    names, previous = context.names(step), torch.device

    def new(cls: type, *args: Any, **kwargs: Any) -> torch.device:
        # before, since torch's parser knows no alias that is no device type; after, for `device(type=...)`
        read = [names.device(item) for item in args]
        return names.device(previous(*read, **{key: names.device(item) for key, item in kwargs.items()}))

    context.ledger.install(torch, "device", standing_for(STOCK_DEVICE, "device", new), by=step.id)


def install_generator(context: Context, step: StepSpec) -> None:
    """Put a class at ``torch.Generator`` that makes generators of the canonical device of the alias's."""
    names, previous = context.names(step), torch.Generator

    def new(cls: type, device: Any = "cpu") -> torch.Generator:
        return previous(names.device(device))

    context.ledger.install(torch, "Generator", standing_for(torch._C.Generator, "Generator", new), by=step.id)
