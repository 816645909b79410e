"""`torch.device` as a class that reads the alias, and whose instances are genuine devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.aliases.names import STOCK_DEVICE, Names

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


class _DeviceMeta(type):
    """Make the class equal to the C type that it stands for.

    The C type allows no subclass, and tables all over torch (schema inference, Dynamo's constants, FX's types) are
    keyed by it. With equality and hash shared, both find the same entry whichever of the two a table was built with.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, STOCK_DEVICE)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or subclass is STOCK_DEVICE

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is STOCK_DEVICE or isinstance(other, _DeviceMeta)

    def __hash__(cls) -> int:
        return hash(STOCK_DEVICE)

    def __getattr__(cls, name: str) -> Any:
        return getattr(STOCK_DEVICE, name)

    def __repr__(cls) -> str:
        return repr(STOCK_DEVICE)


def device_class(names: Names) -> type:
    """Return the class for ``torch.device``."""

    def new(cls: type, *args: Any, **kwargs: Any) -> torch.device:
        return names.device(STOCK_DEVICE(*args, **kwargs))

    body = {"__new__": new, "__doc__": STOCK_DEVICE.__doc__, "__module__": "torch", "__qualname__": "device"}
    return _DeviceMeta("device", (), body)


def install(context: Context, step: StepSpec) -> None:
    """Put the class at ``torch.device``, and in TorchScript's table of builtins beside the C type."""
    context.ledger.install(torch, "device", device_class(context.names(step)), by=step.id)
