"""Put the backends that routes name in force for their overloads, through the dispatcher."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from flagos_runtime.errors import KernelUnavailableError
from flagos_runtime.integration.routing.counts import PRIOR, Counts, dispatch_log
from flagos_runtime.integration.routing.failures import is_kernel_failure
from flagos_runtime.integration.routing.guards import guard_of, takes_of
from flagos_runtime.integration.routing.host import host_kernel
from flagos_runtime.integration.routing.library import overload_of, register_kernels
from flagos_runtime.integration.routing.prior import is_composed, prior_kernel
from flagos_runtime.operators import needs_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flagos_runtime.integration.context import Context
    from flagos_runtime.plan import OpDecision
    from flagos_runtime.records import StepSpec

    Kernel = Callable[..., Any]

VENDOR: Final = "vendor"


def install(context: Context, step: StepSpec) -> None:
    """Carry the plan's decisions on operators out."""
    install_operators(context, context.operators, by=step.id)


def install_operators(context: Context, decisions: Iterable[OpDecision], *, by: str) -> Counts:
    """Register a kernel for each of *decisions* that leaves the kernel that is there, and count in the context."""
    key = context.dispatch_key
    routes = [_Route(context, item, key) for item in decisions if needs_kernel(item)]
    register_kernels(context.ledger, key, {item.name: item.kernel() for item in routes}, by=by)
    composed = [item for item in routes if is_composed(item.name)]
    register_kernels(context.ledger, f"Autograd{key}", {item.name: item.under_autograd() for item in composed}, by=by)
    return context.counts


class _Link(NamedTuple):
    """A backend's kernel, and which calls it takes; every call where that is ``None``."""

    backend: str
    kernel: Kernel
    takes: Callable[[Any, Any], bool] | None


class _Route:
    """The chain of kernels of one overload: the backends in order, and what was there before."""

    def __init__(self, context: Context, decision: OpDecision, key: str) -> None:
        self.name = decision.overload
        self._context = context
        self._decision = decision
        self._op = overload_of(self.name)
        self._counts = context.counts.of(self.name)
        self._prior, self._counts.prior = prior_kernel(self.name, self._op, key, context.kernels)
        self._kernels: list[_Link] | None = None
        self._serving = threading.local()

    def kernel(self) -> Kernel:
        """Return the function that is registered for the device."""
        matches = guard_of(self._op, self._decision.guard)
        serving = self._serving

        def kernel(*args: Any, **kwargs: Any) -> Any:
            # a backend's kernel may be written with the very operator that it serves
            if getattr(serving, "on", False) or (matches is not None and not matches(args, kwargs)):
                return self._stock(args, kwargs)
            serving.on = True
            try:
                return self._serve(args, kwargs)
            finally:
                serving.on = False

        kernel.__qualname__ = f"route[{self.name}]"
        return kernel

    def under_autograd(self) -> Kernel:
        """Return the function for autograd's key, where a composed overload is still in one piece.

        A kernel below has no derivative, so calls that need one take the operators that the overload is composed of.
        """
        op, composite = self._op, torch._C.DispatchKey.CompositeImplicitAutograd

        def kernel(*args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled() and _requires_grad((*args, *kwargs.values())):
                self._counts.calls[PRIOR] += 1
                return op._op_dk(composite, *args, **kwargs)
            with torch._C._AutoDispatchBelowAutograd():
                return op(*args, **kwargs)

        return kernel

    def _stock(self, args: Any, kwargs: Any) -> Any:
        if self._prior is None:
            raise NotImplementedError(
                f"{self.name}: {self._decision.where} leaves this call to a kernel that there is not"
            )
        self._counts.calls[PRIOR] += 1
        return self._prior(*args, **kwargs)

    def _serve(self, args: Any, kwargs: Any) -> Any:
        kernels = self._chain()
        while link := next((item for item in kernels if item.takes is None or item.takes(args, kwargs)), None):
            try:
                result = link.kernel(*args, **kwargs)
            except Exception as error:
                if not self._may_go_on(kernels, link, error):
                    raise
                continue
            self._counts.calls[link.backend] += 1
            return result
        return self._stock(args, kwargs)

    def _chain(self) -> list[_Link]:
        if self._kernels is None:
            found = [self._link(backend) for backend in self._decision.backends]
            self._kernels = [link for link in found if link is not None]
            self._note_in_force(self._kernels)
            dispatch_log.info("%s -> %s (%s)", self.name, self._counts.in_force, self._decision.where)
        return self._kernels

    def _note_in_force(self, kernels: list[_Link]) -> None:
        backend, kernel = kernels[0][:2] if kernels else (PRIOR, self._prior)
        title = getattr(kernel, "__qualname__", "")
        self._counts.in_force = f"{backend}: {kernel.__module__}.{title}" if title else backend

    def _link(self, backend: str) -> _Link | None:
        try:
            return _Link(backend, self._load(backend), takes_of(self._context.backends[backend].without_dtypes))
        except KernelUnavailableError as error:
            self._counts.failed(backend, error, "left out")
            return None

    def _load(self, backend: str) -> Kernel:
        if backend in _OWN:
            return _OWN[backend](self)
        module, _, function = self._context.backends[backend].kernel.partition(":")
        loaded: Kernel = getattr(import_module(module), function)(self._context, self.name)
        return loaded

    def _may_go_on(self, kernels: list[_Link], failed: _Link, error: Exception) -> bool:
        """Decide what follows a failure, and note it.

        A kernel is tried once: what does not exist or compile for one call will not for the next.
        """
        policy = self._decision.on_failure
        if policy == "raise" or not is_kernel_failure(error):
            return False
        left = [item for item in kernels if item is not failed]
        if policy == "cpu" and failed.backend != "cpu":
            left = [_Link("cpu", host_kernel(self._op), None)]
        elif not left and self._prior is None:
            return False
        if failed in kernels:  # another thread may have seen it too
            kernels[:] = left
        self._counts.failed(failed.backend, error, f"served by {left[0].backend if left else PRIOR} since")
        self._note_in_force(kernels)
        return True

    def _vendor(self) -> Kernel:
        if self._prior is None:
            raise KernelUnavailableError(f"the device has no kernel of {self.name}")
        return self._prior

    def _refusal(self) -> Kernel:
        def refuse(*_: Any, **__: Any) -> Any:
            raise RuntimeError(
                f"{self.name} is routed to 'none' by {self._decision.where}; route it to another backend to call it"
            )

        return refuse

    def _host(self) -> Kernel:
        return host_kernel(self._op)


_OWN: Final[dict[str, Callable[[_Route], Kernel]]] = {
    VENDOR: _Route._vendor,
    "cpu": _Route._host,
    "none": _Route._refusal,
}


def _requires_grad(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return True
        if isinstance(value, (list, tuple)) and _requires_grad(value):
            return True
    return False
