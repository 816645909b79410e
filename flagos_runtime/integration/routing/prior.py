"""The kernel that an overload had before a route was installed, callable from the one that takes its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

Kernel = Callable[..., Any]

#: Alias keys whose kernel serves each backend that has none of its own.
COMPOSITE: Final = (
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeImplicitAutograd,
)


class Prior(NamedTuple):
    """A kernel, ``None`` where there is none, and what it is called."""

    kernel: Kernel | None
    title: str


def prior_kernel(name: str, op: torch._ops.OpOverload, key: str, own: Mapping[str, Kernel]) -> Prior:
    """Return what serves *op* under dispatch key *key* now.

    Args:
        name: ``aten::name.overload``.
        op: the overload of that name.
        key: dispatch key of the device.
        own: kernels that this runtime has registered for that key, by overload.
    """
    if name in own:
        return Prior(own[name], own[name].__qualname__)
    if not torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
        alias = next((item for item in COMPOSITE if _has(name, item)), None)
        if alias is not None:
            return Prior(partial(op._op_dk, alias), f"torch's {alias.name}")
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key):
        return Prior(None, "none")
    return _compiled(name, op, key)


def is_composed(name: str) -> bool:
    """Tell whether autograd of the overload comes from what it is composed of, and so ends at a kernel of its own."""
    return _has(name, torch._C.DispatchKey.CompositeImplicitAutograd)


def _has(name: str, key: torch._C.DispatchKey) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key.name)


def _compiled(name: str, op: torch._ops.OpOverload, key: str) -> Prior:
    kernel = torch.library.get_kernel(name, key)
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    tensors = frozenset(at for at, item in enumerate(op._schema.arguments) if str(item.type) == "Tensor")

    def call(*args: Any, **kwargs: Any) -> Any:
        return kernel.call_boxed(keys, *_as_tensors(args, tensors), **kwargs)

    return Prior(call, repr(kernel))


def _as_tensors(args: tuple[Any, ...], tensors: frozenset[int]) -> list[Any]:
    """Turn the numbers that stand for tensors into such: the dispatcher gives them to Python as numbers."""
    others = [item for item in args if isinstance(item, torch.Tensor)]
    return [
        _number(item, others) if at in tensors and not isinstance(item, torch.Tensor) else item
        for at, item in enumerate(args)
    ]


def _number(value: complex, others: list[torch.Tensor]) -> torch.Tensor:
    """Return *value* as a tensor that promotes its operands as the number does, exact where there is such a dtype."""
    exact = torch.tensor(value, dtype=_EXACT[type(value)])
    if not others or torch.result_type(others[0], value) == torch.result_type(others[0], exact):
        return exact
    return torch.tensor(value, dtype=torch.result_type(others[0], value))


_EXACT: Final[dict[type, torch.dtype]] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}
