"""The CPU kernel on host copies, as a backend of an operator on another device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable


def host_kernel(op: torch._ops.OpOverload) -> Callable[..., Any]:
    """Return *op* on copies in host memory: what it writes and what it returns goes back to the device.

    A result that is an argument stays that argument. Views, factories and random numbers cannot be served so, and are
    refused when routes are resolved.
    """
    written = frozenset(
        argument.name
        for argument in op._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    names = [argument.name for argument in op._schema.arguments]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given, spec = tree_flatten((args, kwargs))
        hosted = [item.cpu() if isinstance(item, torch.Tensor) else item for item in given]
        device = next((item.device for item in given if isinstance(item, torch.Tensor) and not item.is_cpu), None)
        host_args, host_kwargs = tree_unflatten(hosted, spec)
        result = op(*host_args, **host_kwargs)
        bound = {**dict(zip(names, zip(args, host_args, strict=True), strict=False)), **_pairs(kwargs, host_kwargs)}
        for name in written & bound.keys():
            _write_back(*bound[name])
        back = {id(host): item for host, item in zip(hosted, given, strict=True) if isinstance(host, torch.Tensor)}
        return tree_map(lambda item: _returned(item, back, device), result)

    return kernel


def _pairs(kwargs: dict[str, Any], host: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (kwargs[name], host[name]) for name in kwargs}


def _write_back(target: Any, source: Any) -> None:
    if isinstance(target, (list, tuple)):
        for one, other in zip(target, source, strict=True):
            _write_back(one, other)
    elif isinstance(target, torch.Tensor) and target is not source:
        if target.shape != source.shape:
            target.resize_(source.shape)
        target.copy_(source)


def _returned(item: Any, back: dict[int, Any], device: torch.device | None) -> Any:
    if not isinstance(item, torch.Tensor):
        return item
    return back[id(item)] if id(item) in back else item.to(device)
