"""Dynamo and Inductor on the flagos device: the graph is compiled for the host, its border carries tensors across."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.boxing import boxed, host_of
from flagos_runtime.integration.device.random import lent_state
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_HOST = torch._C.device("cpu")
#: Device types that the host stands in for. A literal "cuda" reaches the graph of an aliased process as it was written.
_CARRIED = frozenset({DEVICE_TYPE, "cuda"})


def on_import(context: Context, name: str, install: Callable[[], None]) -> None:
    """Run *install* now if module *name* is loaded, otherwise when it is, if this activation is still live then."""
    if name in sys.modules:
        install()
        return
    # imported here: hosts without a platform must not pay for it
    from wrapt import when_imported

    @when_imported(name)
    def later(module: object) -> None:
        if context.live.on:
            install()


def install_inductor(context: Context, step: StepSpec) -> None:
    """Let Inductor see graphs of the device as graphs of the host."""
    module, _, name = step.target.rpartition(".")

    def install() -> None:
        owner, _ = locate(step.target)
        stock = getattr(owner, name)

        @functools.wraps(stock)
        def compile_inner(graph: torch.fx.GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Any:
            if not context.live.on or not _concerns(graph, inputs):
                return stock(graph, inputs, **kwargs)
            return _compiled_on_host(stock, graph, inputs, kwargs)

        context.ledger.install(owner, name, compile_inner, by=step.id)

    on_import(context, module, install)


def install_is_cuda(context: Context, step: StepSpec) -> None:
    """Let ``is_cuda`` of a traced tensor say what it says of a real one."""
    canonical = context.device_type

    def install() -> None:
        owner, name = locate(step.target)
        stock = getattr(owner, name)

        @functools.wraps(stock)
        def method_attr_is_cuda(self: Any, tx: Any) -> Any:
            if context.live.on and self.device is not None and self.device.type == canonical:
                builder: Any = sys.modules["torch._dynamo.variables.base"]
                return builder.VariableTracker.build(tx, True)
            return stock(self, tx)

        context.ledger.install(owner, name, method_attr_is_cuda, by=step.id)

    on_import(context, "torch._dynamo.variables.tensor", install)


def _concerns(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
    values = (value for node in graph.graph.nodes for value in _tensors(node.meta.get("val")))
    return any(value.device.type == DEVICE_TYPE for value in (*_tensors(tuple(inputs)), *values))


def _tensors(value: Any) -> tuple[torch.Tensor, ...]:
    return tuple(item for item in torch.utils._pytree.tree_leaves(value) if isinstance(item, torch.Tensor))


def _compiled_on_host(stock: Any, graph: torch.fx.GraphModule, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    boards = tuple(_board_of(value) for value in _outputs(graph))
    draws = _draws(graph)
    moved = _Moved()
    host_graph, host_inputs = moved.graph(graph), [moved.value(item) for item in inputs]
    code = stock(host_graph, host_inputs, **kwargs)
    return HostCode(code, boards, draws)


def _outputs(graph: torch.fx.GraphModule) -> tuple[Any, ...]:
    """Return the example of each output, in order; ``None`` for an output that is no tensor."""
    output = next(iter(reversed(graph.graph.nodes)))
    return tuple(item.meta.get("val") if isinstance(item, torch.fx.Node) else None for item in output.args[0])


def _board_of(value: Any) -> int | None:
    device = value.device if isinstance(value, torch.Tensor) else None
    return device.index if device is not None and device.type == DEVICE_TYPE else None


def _draws(graph: torch.fx.GraphModule) -> bool:
    tags = (getattr(node.target, "tags", ()) for node in graph.graph.nodes)
    return any(torch.Tag.nondeterministic_seeded in found for found in tags)


class _Moved:
    """A graph and its example values with the host in place of the device; one new value for each old one."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def graph(self, graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
        """Return a copy of *graph* for the host."""
        copied = torch.fx.GraphModule(_constants(graph), torch.fx.Graph())
        copied.meta.update(graph.meta)
        renamed: dict[torch.fx.Node, torch.fx.Node] = {}
        for node in graph.graph.nodes:
            made = copied.graph.node_copy(node, renamed.__getitem__)
            made.args, made.kwargs = self.value(made.args), self.value(made.kwargs)
            made.meta = {key: self.value(item) if key in _EXAMPLES else item for key, item in node.meta.items()}
            renamed[node] = made
        copied.recompile()
        return copied

    def value(self, value: Any) -> Any:
        """Return *value* with every device and every tensor of the device replaced by the host's."""
        return torch.fx.node.map_aggregate(value, self._leaf)

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, torch._C.device) and value.type in _CARRIED:
            return _HOST
        if isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE:
            return self._seen.setdefault(id(value), (value, _on_host(value)))[1]
        return value


_EXAMPLES = frozenset({"val", "tensor_meta", "example_value"})


def _on_host(value: torch.Tensor) -> torch.Tensor:
    fake_mode = getattr(value, "fake_mode", None)
    if fake_mode is None:
        return host_of(value)
    with fake_mode:
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=_HOST)


def _constants(graph: torch.fx.GraphModule) -> dict[str, Any]:
    """Return the attributes that nodes of *graph* read, tensors of the device seen from the host."""
    names = {str(node.target) for node in graph.graph.nodes if node.op == "get_attr"}
    found = {name: functools.reduce(getattr, name.split("."), graph) for name in names}
    return {name: _host_constant(value) for name, value in found.items()}


def _host_constant(value: Any) -> Any:
    is_ours = isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE
    return _on_host(value) if is_ours else value


@dataclass  # without slots: torch copies `__dict__` when it wraps compiled code
class HostCode:
    """Compiled host code with the device's tensors carried over its border.

    Attributes:
        code: what Inductor made for the host.
        boards: for each output the board that it belongs to, ``None`` for one of the host.
        draws: the code draws random numbers, which are then those of the board.
    """

    code: Any
    boards: tuple[int | None, ...]
    draws: bool
    _boxed_call: bool = True

    def __call__(self, inputs: list[Any]) -> Any:
        """Run the code; *inputs* is emptied, as boxed calls do."""
        carried = [host_of(item) if _is_ours(item) else item for item in inputs]
        origin = {id(host): (host, item) for host, item in zip(carried, inputs, strict=True)}
        inputs.clear()
        with ExitStack() as stack:
            if self.draws:
                stack.enter_context(lent_state(next((b for b in self.boards if b is not None), BOARDS.current())))
            results = self.code(carried)
        return [_back(result, board, origin) for result, board in zip(results, self.boards, strict=True)]


def _is_ours(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE


def _back(result: Any, board: int | None, origin: dict[int, tuple[Any, Any]]) -> Any:
    known = origin.get(id(result))
    if known is not None:
        return known[1]
    return result if board is None or not isinstance(result, torch.Tensor) else boxed(result, board)
