"""Dynamo without a record of the current stream: work on the device is over when an operator returns."""

from __future__ import annotations

import collections
import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.integration.compile import on_import
from flagos_runtime.ledger import locate

if TYPE_CHECKING:
    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec


def install_streams(context: Context, step: StepSpec) -> None:
    """Let a compiled frame note the current stream if it asks for it, and not on every call.

    Where there is an accelerator, Dynamo registers its current stream at the start of each frame, and the code that it
    makes looks the stream up again on each call, of CPU code too: a third of a small call's time (torch 2.13).
    """
    module, _, name = step.target.rpartition(".")

    def install() -> None:
        owner, _ = locate(step.target)
        stock = getattr(owner, name, None)
        if stock is None:  # an older torch keeps no such state
            return

        @functools.wraps(stock.__init__)
        def init(self: Any) -> None:
            if context.live.on:
                self.cur_stream_stack = collections.deque()
            else:
                stock_init(self)

        stock_init = stock.__init__
        context.ledger.install(stock, "__init__", init, by=step.id)
        # torch 2.11 has no `cur_stream_id`
        for method in filter(functools.partial(hasattr, stock), ("cur_stream", "cur_stream_id")):
            context.ledger.install(stock, method, _noting(getattr(stock, method)), by=step.id)

    on_import(context, module, install)


def _noting(stock: Any) -> Any:
    @functools.wraps(stock)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.cur_stream_stack and torch.accelerator.is_available():
            self.cur_stream_stack.append(_current_stream())
        return stock(self, *args, **kwargs)

    return method


def _current_stream() -> Any:
    """Return Dynamo's variable for the current stream, registered as Dynamo does at the start of a frame."""
    sources, lazy = import_module("torch._dynamo.source"), import_module("torch._dynamo.variables.lazy")
    registry = import_module("torch._dynamo.graph_bytecode_inputs")
    stream = torch.accelerator.current_stream()
    source = sources.CurrentStreamSource(stream.device)
    variable = lazy.LazyVariableTracker.create(stream, source=source)
    variable.user_object_index = registry.register_user_object(stream, source)
    return variable
