"""A declarative platform-capability runtime for PyTorch: importing it activates it (docs/architecture.md)."""

from flagos_runtime.activation import (
    activate,
    alias_active,
    asking_torch,
    deactivate,
    explain,
    on_import,
    original,
    status,
)
from flagos_runtime.errors import ActivationError, ConfigError, FlagosError, RefusedError

__version__ = "0.1.0"

__all__ = [
    "ActivationError",
    "ConfigError",
    "FlagosError",
    "RefusedError",
    "activate",
    "alias_active",
    "asking_torch",
    "deactivate",
    "explain",
    "original",
    "status",
]

on_import()
