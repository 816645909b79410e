"""The device of a vendor's own torch plugin: loading it, publishing it, and telling FlagGems whose it is."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import torch

from flagos_runtime.errors import ActivationError

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import Platform, StepSpec


def load_device(platform: Platform) -> None:
    """Import the vendor's torch plugin, as torch's autoload may not have done yet, and check whose PrivateUse1 is.

    Raises:
        ActivationError: the plugin cannot be imported, or the device is not there afterwards.
    """
    if platform.kind != "private_use1" or platform.torch_package is None:
        return
    try:
        import_module(platform.torch_package)
    except Exception as exc:
        needs = f"platform '{platform.name}' needs '{platform.torch_package}'"
        raise ActivationError(f"{needs}, whose import failed: {type(exc).__name__}: {exc}") from exc
    owner = torch._C._get_privateuse1_backend_name()
    if owner != platform.device_type:
        raise ActivationError(
            f"platform '{platform.name}' needs the dispatch key PrivateUse1 for '{platform.device_type}', "
            f"but it belongs to '{owner}' in this process"
        )


def install_module(context: Context, step: StepSpec) -> None:
    """Publish the canonical device's module as ``torch.flagos``."""
    module = context.device_module
    context.ledger.install(torch, "flagos", module, by=step.id)
    context.ledger.install_item(sys.modules, "torch.flagos", module, by=step.id, label="sys.modules")
