"""Kernels of the flagos device: one for each ATen overload that has a CPU kernel and no composite one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.device import random, storage
from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.boxing import boxed, host_of
from flagos_runtime.integration.routing.library import dense_overloads, overload_of

if TYPE_CHECKING:
    from collections.abc import Callable

Kernel = Any  # a callable with the overload's own signature

#: Operators that take tensors of several devices by contract: the index of an indexing operator may be on the host.
_MIXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"})

#: In-place changes of sizes, strides or storage alone: the CPU kernel works on the flagos tensor itself.
_METADATA = frozenset({"aten::set_.source_Storage_storage_offset", "aten::set_.source_Tensor"})


def all_kernels() -> dict[str, Kernel]:
    """Return every kernel of the device by overload."""
    own = {name: _deferred(name, partial(_build, name)) for name in dense_overloads()}
    return own | {name: _deferred(name, build) for name, build in _OVERRIDEABLE.items()} | storage.KERNELS


def _deferred(name: str, build: Callable[[], Kernel]) -> Kernel:
    """Build the kernel on its first call: most programs use few of the thousand."""
    built: list[Kernel] = []

    def kernel(*args: object, **kwargs: object) -> object:
        if not built:
            built.append(build())
        return built[0](*args, **kwargs)

    kernel.__qualname__ = f"flagos[{name}]"
    return kernel


def _build(name: str) -> Kernel:
    op = overload_of(name)
    if name in _METADATA or _is_view(op):
        return _borrowed(op)
    if any(argument.name == "device" for argument in op._schema.arguments):
        return _factory(op)
    return _on_host(op)


def _is_view(op: torch._ops.OpOverload) -> bool:
    return any(item.alias_info is not None and not item.alias_info.is_write for item in op._schema.returns)


def _borrowed(op: torch._ops.OpOverload) -> Kernel:
    """Run the CPU kernel on the flagos tensor: it reads and writes metadata alone, so the storage stays shared."""
    cpu = torch._C.DispatchKey.CPU

    def kernel(*args: object, **kwargs: object) -> object:
        return op._op_dk(cpu, *args, **kwargs)

    return kernel


def _factory(op: torch._ops.OpOverload) -> Kernel:
    def kernel(*args: object, device: torch.device | None = None, **kwargs: object) -> torch.Tensor:
        index = BOARDS.current() if device is None or device.index is None else BOARDS.checked(device.index)
        return boxed(op(*args, device="cpu", **kwargs), index)

    return kernel


def _on_host(op: torch._ops.OpOverload) -> Kernel:
    """Run the overload on host views of its arguments and box what is new in the result."""
    schema = op._schema
    written = _written_arguments(schema)
    outs = tuple(a.name for a in schema.arguments if a.is_out)
    mixed = op._opname in _MIXED
    run = random.drawing(op)

    def kernel(*args: Any, **kwargs: Any) -> object:
        call = _Call(op, mixed)
        host_args = [call.host(value) for value in args]
        host_kwargs = {name: call.host(value) for name, value in kwargs.items()}
        call.check_devices()
        if outs:
            storage.resizing(run, call.index, host_args, host_kwargs, {name: kwargs[name] for name in outs})
        else:
            result = run(call.index, *host_args, **host_kwargs)
        if written:
            originals = tuple(args[at] if at < len(args) else kwargs[name] for at, name in written)
            return originals[0] if len(originals) == 1 else originals
        return call.back(result)

    return kernel if schema.returns else _without_result(kernel)


def _without_result(kernel: Kernel) -> Kernel:
    def procedure(*args: object, **kwargs: object) -> None:
        kernel(*args, **kwargs)

    return procedure


def _written_arguments(schema: torch._C.FunctionSchema) -> tuple[tuple[int, str], ...]:
    """Return position and name of the argument that each result is, for in-place and ``out=`` overloads."""
    by_alias = {
        frozenset(argument.alias_info.before_set): (position, argument.name)
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    aliases = [item.alias_info for item in schema.returns]
    return tuple(by_alias[frozenset(alias.before_set)] for alias in aliases if alias is not None)


class _Call:
    """The arguments of one call on the host side, and the way back."""

    __slots__ = ("_devices", "_mixed", "_op", "_originals", "index")

    def __init__(self, op: torch._ops.OpOverload, mixed: bool) -> None:  # noqa: FBT001 - built once, below
        self._op = op
        self._mixed = mixed
        self.index = -1
        self._devices: set[torch.device] = set()
        self._originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def host(self, value: Any) -> Any:
        """Return *value* with every flagos tensor in it seen from the host."""
        if isinstance(value, torch.Tensor):
            return self._host_tensor(value)
        if isinstance(value, (list, tuple)):
            return [self.host(item) for item in value]
        if isinstance(value, torch._C.device) and value.type == DEVICE_TYPE:
            return torch._C.device("cpu")
        return value

    def _host_tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_cpu:
            if tensor.dim() and not self._mixed:
                self._devices.add(tensor.device)
            return tensor
        device = tensor.device
        self._devices.add(device)
        if self.index < 0:
            self.index = device.index
        host = host_of(tensor)
        self._originals[id(host)] = (host, tensor)
        return host

    def check_devices(self) -> None:
        """Raise what CUDA raises when tensors of several devices meet; host scalars may meet any device."""
        if len(self._devices) > 1:
            found = ", ".join(sorted(str(device) for device in self._devices))
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found}! "
                f"(when running aten::{self._op._opname})"
            )

    def back(self, result: Any) -> Any:
        """Return *result* on the device; a result that is an argument stays that argument."""
        if isinstance(result, torch.Tensor):
            known = self._originals.get(id(result))
            return known[1] if known is not None else boxed(result, self.index if self.index >= 0 else BOARDS.current())
        if isinstance(result, (list, tuple)):
            return (
                type(result)(self.back(item) for item in result)
                if type(result) in {list, tuple}
                else tuple(self.back(item) for item in result)
            )
        return result


def _convolution_backward() -> Kernel:
    stock = _on_host(torch.ops.aten.convolution_backward.default)

    def kernel(grad_output: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, *rest: object) -> object:  # noqa: A002
        return stock(grad_output, input, weight, [grad_output.size(1)], *rest)

    return kernel


#: Operators that torch leaves to a backend of its own kind: the stock operator with the same meaning serves them.
_OVERRIDEABLE: dict[str, Callable[[], Kernel]] = {
    "aten::convolution_overrideable": lambda: _on_host(torch.ops.aten.convolution.default),
    "aten::convolution_backward_overrideable": _convolution_backward,
}
