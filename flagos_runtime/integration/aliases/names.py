"""Read a device argument the way a user means it: `cuda` is the canonical device."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

#: The C type whose instances are all devices, whatever stands at `torch.device`.
STOCK_DEVICE = torch._C.device


class Live:
    """Whether the wrappers of one activation still take effect.

    Somebody may hold a wrapper after deactivation; with ``on`` false it does what torch does.
    """

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = True


@dataclass(frozen=True, slots=True)
class Names:
    """One alias: *name* means *canonical* for as long as the activation is live."""

    name: str
    canonical: str
    live: Live

    def device(self, value: Any) -> Any:
        """Return *value* with the alias read as the canonical device; anything that is no device comes back as it is.

        Devices are parsed, so a string counts only where torch itself expects a device.
        """
        if not self.live.on:
            return value
        if isinstance(value, str):
            return self.canonical + value[len(self.name) :] if self._means(value) else value
        if isinstance(value, STOCK_DEVICE) and value.type == self.name:
            return self.of_index(value.index)
        return value

    def device_type(self, value: Any) -> Any:
        """Return *value* with the alias read as the canonical device type."""
        return self.canonical if self.live.on and value == self.name else value

    def of_index(self, index: int | None) -> torch.device:
        """Return the canonical device of *index*."""
        return STOCK_DEVICE(self.canonical) if index is None else STOCK_DEVICE(self.canonical, index)

    def _means(self, value: str) -> bool:
        return value == self.name or value.startswith(f"{self.name}:")


def translating(
    stock: Callable[..., Any], translate: Callable[[Any], Any], *, position: int | None, keyword: str = "device"
) -> Callable[..., Any]:
    """Wrap *stock* so that one argument is translated on its way in.

    Args:
        stock: the function that does the work.
        translate: applied to the argument.
        position: where the argument stands when it is given by position, ``None`` where it never is.
        keyword: its name.
    """

    @functools.wraps(stock)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if keyword in kwargs:
            kwargs[keyword] = translate(kwargs[keyword])
        elif position is not None and len(args) > position:
            args = (*args[:position], translate(args[position]), *args[position + 1 :])
        return stock(*args, **kwargs)

    return wrapper
