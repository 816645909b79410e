"""Methods that torch's classes get for the device, and those that need help with it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.classes import standing_for
from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE, DeviceGenerator
from flagos_runtime.integration.device.boxing import boxed
from flagos_runtime.integration.device.random import index_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_DEVICE = torch._C.device


def install_mover(context: Context, step: StepSpec) -> None:
    """Give tensors the method that moves them to the device."""

    def flagos(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> torch.Tensor:  # noqa: FBT001, FBT002
        """Return a copy of the tensor on the device, or the tensor itself where it is there already."""
        return self.to(_DEVICE(DEVICE_TYPE, index_of(device)), non_blocking=non_blocking, **kwargs)

    context.ledger.install(torch.Tensor, DEVICE_TYPE, flagos, by=step.id)


def install_is(context: Context, step: StepSpec) -> None:
    """Give tensors the property that tells whether they are on the device."""
    tells = property(lambda self: self.device.type == DEVICE_TYPE, doc="True for a tensor on the flagos device.")
    context.ledger.install(torch.Tensor, f"is_{DEVICE_TYPE}", tells, by=step.id)


def install_module_mover(context: Context, step: StepSpec) -> None:
    """Give modules the method that moves their parameters to the device."""

    def flagos(self: torch.nn.Module, device: Any = None) -> torch.nn.Module:
        """Move all parameters and buffers to the device and return the module."""
        return self._apply(lambda tensor: tensor.flagos(device))

    context.ledger.install(torch.nn.Module, DEVICE_TYPE, flagos, by=step.id)


def install_apply(context: Context, step: StepSpec) -> None:
    """Keep a parameter the same object when its module moves to or from the device.

    torch does that by ``param.data = moved``, which it refuses between PrivateUse1 and other dense backends, and makes
    new parameters instead: an optimizer built earlier would go on with the old ones, and tied weights would part.
    """
    stock = torch.nn.Module._apply
    live = context.live

    @functools.wraps(stock)
    def _apply(self: torch.nn.Module, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:  # noqa: FBT001, FBT002
        if not live.on:
            return stock(self, fn, recurse)
        return stock(self, _Moves(self, fn, recurse=recurse), recurse)

    context.ledger.install(torch.nn.Module, "_apply", _apply, by=step.id)


class _Moves:
    """One conversion of a module: parameters that change sides are swapped in place before torch looks at them."""

    def __init__(self, module: torch.nn.Module, fn: Callable[[torch.Tensor], torch.Tensor], *, recurse: bool) -> None:
        self._fn: Callable[[torch.Tensor], torch.Tensor] = fn._fn if isinstance(fn, _Moves) else fn
        self._shared: dict[int, torch.nn.Parameter] = fn._shared if isinstance(fn, _Moves) else {}
        if not isinstance(fn, _Moves):
            for owner in module.modules() if recurse else (module,):
                self._prepare(owner)

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._fn(tensor)

    def _prepare(self, owner: torch.nn.Module) -> None:
        for key, parameter in owner._parameters.items():
            if parameter is not None:
                owner._parameters[key] = self._moved(parameter)

    def _moved(self, parameter: torch.nn.Parameter) -> torch.nn.Parameter:
        if id(parameter) in self._shared:
            return self._shared[id(parameter)]
        with torch.no_grad():
            converted = self._fn(parameter)
        if _changes_sides(parameter, converted):
            return self._swapped(parameter, converted)
        return parameter

    def _swapped(self, parameter: torch.nn.Parameter, converted: torch.Tensor) -> torch.nn.Parameter:
        fresh = torch.nn.Parameter(converted, requires_grad=parameter.requires_grad)
        if parameter.grad is not None:
            with torch.no_grad():
                fresh.grad = self._fn(parameter.grad).requires_grad_(parameter.grad.requires_grad)
        try:
            torch.utils.swap_tensors(parameter, fresh)
        except RuntimeError:
            # a live graph or a weak reference holds the old tensor: a new parameter, shared by all who shared the old
            self._shared[id(parameter)] = self._shared[id(fresh)] = fresh
            return fresh
        return parameter


def _changes_sides(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (one.device.type == DEVICE_TYPE) != (other.device.type == DEVICE_TYPE) and not one.is_meta


def install_generator(context: Context, step: StepSpec) -> None:
    """Let ``torch.Generator`` make generators of the device, which torch leaves to C++ backends."""
    live = context.live

    def new(cls: type, device: Any = "cpu") -> torch.Generator:
        wanted = torch.device(device)
        if live.on and wanted.type == DEVICE_TYPE:
            return DeviceGenerator(index_of(wanted))
        return torch._C.Generator(device)

    context.ledger.install(torch, "Generator", standing_for(torch._C.Generator, "Generator", new), by=step.id)


def install_storage(context: Context, step: StepSpec) -> None:
    """Let ``torch.UntypedStorage`` take memory of the device: the device has no C++ allocator that torch could ask."""
    stock: Any = torch.UntypedStorage.__new__  # the stubs leave out `device`
    live = context.live

    def new(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        wanted = torch.device(device) if device is not None else None
        if not live.on or wanted is None or wanted.type != DEVICE_TYPE:
            return stock(cls, *args, **kwargs) if device is None else stock(cls, *args, device=device, **kwargs)
        return _storage(args, index_of(wanted))

    context.ledger.install(torch.UntypedStorage, "__new__", staticmethod(new), by=step.id)


def _storage(args: tuple[Any, ...], index: int) -> torch.UntypedStorage:
    size = args[0] if args and isinstance(args[0], int) else None
    host = (
        torch.empty(size or 0, dtype=torch.uint8)
        if not args or size is not None
        else torch.tensor(args[0], dtype=torch.uint8)
    )
    return boxed(host, BOARDS.checked(index)).untyped_storage()
