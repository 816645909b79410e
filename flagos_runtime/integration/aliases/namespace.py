"""The names of `torch.cuda`, each served as `apis` says."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from flagos_runtime.errors import RefusedError
from flagos_runtime.integration.aliases.apis import EMULATED, REFUSED, SAME, STOCK, UNKNOWN
from flagos_runtime.integration.aliases.tensors import ELEMENTS
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flagos_runtime.integration.aliases.names import Names
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install_same(context: Context, step: StepSpec) -> None:
    """Put the device module's own function or class at the name."""
    owner, name = locate(step.target)
    if not hasattr(owner, name):
        return
    own = getattr(context.device_module, name, _WITHOUT.get(name, _MISSING))
    if own is not _MISSING:
        context.ledger.install(owner, name, own, by=step.id)
    elif callable(getattr(owner, name)):
        _refuse(context, step, owner, name, f"torch.{context.device_type} has no such function")


_MISSING = object()
#: What torch calls on its way to every CUDA tensor, for device modules that have no need of it.
_WITHOUT: dict[str, Any] = {
    "_initialized": True,
    "_is_in_bad_fork": lambda: False,
    "_lazy_call": lambda queued, **_: queued(),
    "_lazy_init": lambda: None,
}


def install_refusal(context: Context, step: StepSpec) -> None:
    """Let the name refuse with an error that names the API and the platform."""
    owner, name = locate(step.target)
    if hasattr(owner, name):
        _refuse(context, step, owner, name, REFUSED[name])


def install_unknown(context: Context, step: StepSpec) -> None:
    """Refuse every public function of a newer torch that the table does not know, rather than let it ask for CUDA."""
    for name in _unknown_names():
        _refuse(context, step, torch.cuda, name, UNKNOWN)


def _unknown_names() -> Iterator[str]:
    known = {*SAME, *EMULATED, *STOCK, *REFUSED}
    public = (name for name in dir(torch.cuda) if not name.startswith("_") and name not in known)
    return (name for name in public if callable(getattr(torch.cuda, name)))


def _refuse(context: Context, step: StepSpec, owner: object, name: str, reason: str) -> None:
    text = f"torch.cuda.{name} is not available on platform '{context.platform.name}': {reason}"
    stock = getattr(owner, name)
    value = _refusing_class(stock, text) if isinstance(stock, type) else _refusing(stock, text, context)
    context.ledger.install(owner, name, value, by=step.id)


def _refusing(stock: Callable[..., Any], text: str, context: Context) -> Callable[..., Any]:
    live = context.live

    @functools.wraps(stock)
    def refusal(*args: Any, **kwargs: Any) -> Any:
        if live.on:
            raise RefusedError(text)
        return stock(*args, **kwargs)

    return refusal


def _refusing_class(stock: type, text: str) -> type:
    """Return a class that nothing is an instance of and that refuses to make one; a class stays a class."""

    def new(cls: type, *args: object, **kwargs: object) -> NoReturn:
        raise RefusedError(text)

    body = {
        "__new__": new,
        "__doc__": stock.__doc__,
        "__module__": stock.__module__,
        "__qualname__": stock.__qualname__,
    }
    return type(stock.__name__, (), body)


def install_is_available(context: Context, step: StepSpec) -> None:
    """Redirect the live probe to the device module, and keep torch's own where ecosystem code looks for it."""
    owner, name = locate(step.target)
    stock: Any = context.ledger.original(owner, name)
    redirected = getattr(context.device_module, name)
    asking, live = context.asking, context.live

    @functools.wraps(stock)
    def probe() -> bool:
        own = asking.get() or not live.on
        return stock() if own else redirected()

    # Dynamo may take the answer as a constant: it cannot change while an activation lasts
    probe._dynamo_marked_constant = True  # type: ignore[attr-defined] # functions take any attribute
    context.ledger.install(owner, name, probe, by=step.id)
    context.ledger.install(owner, f"_flagos_original_{name}", stock, by=step.id)


def install_tensor_type(context: Context, step: StepSpec) -> None:
    """Let a tensor type of `torch.cuda` make tensors of its dtype on the canonical device."""
    owner, name = locate(step.target)
    value = _tensor_type(name, getattr(torch, name), context.names(step))
    context.ledger.install(owner, name, value, by=step.id)


def _tensor_type(name: str, host_type: Callable[..., torch.Tensor], names: Names) -> type:
    dtype = ELEMENTS[name]

    class TensorType(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return (
                isinstance(instance, torch.Tensor)
                and instance.dtype is dtype
                and instance.device.type == names.canonical
            )

    def new(cls: type, *args: Any, **kwargs: Any) -> torch.Tensor:
        return host_type(*args, **kwargs).to(names.of_index(None))

    return TensorType(name, (), {"__new__": new, "__module__": "torch.cuda", "dtype": dtype, "is_cuda": True})


def install_nvtx(context: Context, step: StepSpec) -> None:
    """Accept ranges and marks, which torch refuses where it was built without NVTX."""
    nvtx: Any = torch.cuda.nvtx
    depth = 0

    class Silent:
        def rangePushA(self, message: str) -> int:  # noqa: N802 - names of the C library
            nonlocal depth
            depth += 1
            return depth - 1

        def rangePop(self) -> int:  # noqa: N802
            nonlocal depth
            depth = max(depth - 1, 0)
            return depth

        def rangeStartA(self, message: str) -> int:  # noqa: N802
            return 0

        def rangeEnd(self, handle: int) -> None:  # noqa: N802
            """Nothing was recorded."""

        def markA(self, message: str) -> None:  # noqa: N802
            """Nothing is recorded."""

        def deviceRangeStart(self, message: str, stream: int) -> object:  # noqa: N802
            return None

        def deviceRangeEnd(self, handle: object, stream: int) -> None:  # noqa: N802
            """Nothing was recorded."""

    context.ledger.install(nvtx, "_nvtx", Silent(), by=step.id)
