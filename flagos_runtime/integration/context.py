"""What an installer is given: the ledger, the canonical device, and the names that mean it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.aliases.names import Live, Names
from flagos_runtime.integration.routing.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagos_runtime.config.environment import Environment
    from flagos_runtime.ledger import Ledger
    from flagos_runtime.plan import OpDecision
    from flagos_runtime.records import OpBackend, Platform, StepSpec


@dataclass(frozen=True, slots=True)
class Context:
    """Arguments of every installer.

    Attributes:
        ledger: the only writer.
        platform: the platform that is being activated.
        environment: what the variables say.
        asking: true inside `asking_torch`.
        live: whether this activation is still in force.
        operators: what serves single overloads.
        backends: the backends that those may name.
        counts: how often which backend has served.
        kernels: the device's own kernels by overload, where this runtime has registered them.
    """

    ledger: Ledger
    platform: Platform
    environment: Environment
    asking: ContextVar[bool]
    live: Live
    operators: tuple[OpDecision, ...] = ()
    backends: Mapping[str, OpBackend] = field(default_factory=lambda: MappingProxyType({}))
    counts: Counts = field(default_factory=Counts)
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def device_type(self) -> str:
        """Return the canonical device type."""
        if self.platform.device_type is None:
            raise ValueError(f"platform '{self.platform.name}' has no device type")
        return self.platform.device_type

    @property
    def device_module(self) -> object:
        """Return the module of the canonical device, ``torch.<type>``."""
        return getattr(torch, self.device_type)

    @property
    def dispatch_key(self) -> str:
        """Return the dispatch key of the canonical device."""
        return torch._C._dispatch_key_for_device(self.device_type)

    def names(self, step: StepSpec) -> Names:
        """Return the alias that *step* belongs to.

        Raises:
            ValueError: it belongs to none.
        """
        if step.alias is None:
            raise ValueError(f"step '{step.id}' belongs to no alias")
        return Names(step.alias, self.device_type, self.live)
