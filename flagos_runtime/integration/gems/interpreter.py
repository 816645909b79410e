"""What Triton's interpreter lacks to run FlagGems' kernels on host memory, as patches that the ledger undoes."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import sys
import textwrap
import threading
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from flagos_runtime.integration.compile import on_import
from flagos_runtime.integration.device.boxing import host_of
from flagos_runtime.integration.gems.libdevice import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_VARIABLE = "TRITON_INTERPRET"
_INTERPRETER = "triton.runtime.interpreter"


def install_variable(context: Context, step: StepSpec) -> None:
    """Let Triton interpret kernels: no driver of its serves host memory. A set value stays."""
    if not os.environ.get(_VARIABLE):
        context.ledger.install_item(os.environ, _VARIABLE, "1", by=step.id, label="os.environ")


def install_language(context: Context, step: StepSpec) -> None:
    """Make the language's functions interpreted ones once for each kernel, whatever names its module has.

    The stock function wants ``triton.language`` among the globals of each function, walks the language again for every
    call of a device function and leaves that second change behind.
    """

    def build(module: Any) -> Callable[..., object]:
        stock = module._patch_lang
        running = threading.local()
        visible = _seen_from_anywhere(module)

        class Nested:
            def restore(self) -> None:
                """Leave it to the kernel that is running."""

        class Outer:
            def __init__(self) -> None:
                self._scope = stock(visible)
                running.on = True

            def restore(self) -> None:
                running.on = False
                self._scope.restore()

        return lambda _: Nested() if getattr(running, "on", False) else Outer()

    install_at(context, step, _INTERPRETER, "_patch_lang", build)


def _seen_from_anywhere(module: Any) -> Any:
    """Return what the stock function takes for a kernel: it looks at the globals alone."""
    return type("Visible", (), {"__globals__": {"tl": module.tl, "core": module.tl.core}})


def install_arguments(context: Context, step: StepSpec) -> None:
    """Let kernels work on the memory of the device itself, through FlagGems' own wrappers of tensors too."""

    def build(module: Any) -> Callable[..., object]:
        def init_args_hst(_: object, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
            return [_hosted(module, item) for item in args], {key: _hosted(module, kwargs[key]) for key in kwargs}

        return init_args_hst

    install_at(context, step, _INTERPRETER, "GridExecutor._init_args_hst", build)


def _hosted(module: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value if value.is_cpu else host_of(value)
    if isinstance(value, tuple):
        return module._tuple_create(value, (_hosted(module, item) for item in value))
    if isinstance(value, module.TensorDescriptor):
        parts = (value.shape, value.strides, value.block_shape, value.padding)
        return module.TensorDescriptor(_hosted(module, value.base), *parts)
    return value


def install_results(context: Context, step: StepSpec) -> None:
    """Copy nothing back: the kernel has written the memory of the device."""
    install_at(context, step, _INTERPRETER, "GridExecutor._restore_args_dev", lambda _: lambda *_: None)


def install_order(context: Context, step: StepSpec) -> None:
    """Run one kernel at a time, and without NumPy's warnings about what a device computes silently.

    The interpreter keeps the place in the grid in one object for all threads.
    """

    def build(module: Any) -> Callable[..., object]:
        stock, lock = module.GridExecutor.__call__, threading.RLock()

        @functools.wraps(stock)
        def call(self: object, *args: object, **kwargs: object) -> object:
            with lock, np.errstate(all="ignore"):
                return stock(self, *args, **kwargs)

        return call

    install_at(context, step, _INTERPRETER, "GridExecutor.__call__", build)


def install_connectives(context: Context, step: StepSpec) -> None:
    """Read ``and``, ``or`` and ``not`` in a kernel as the compiler does."""

    def build(module: Any) -> object:
        from flagos_runtime.integration.gems.logic import Connectives  # imported here: it needs Triton

        class Transformer(module.ASTTransformer):
            def visit_Module(self, node: ast.Module) -> ast.AST:  # noqa: N802 - the name that `ast` calls
                return self.generic_visit(Connectives().visit(node))

        return Transformer()

    install_at(context, step, _INTERPRETER, "FunctionRewriter.ast_transformer", build)


def install_dtype(context: Context, step: StepSpec) -> None:
    """Let a dtype stand for the constant that the compiler wraps around it."""
    install_at(context, step, "triton.language.core", "dtype.value", lambda _: property(lambda self: self))


def install_values(context: Context, step: StepSpec) -> None:
    """Compute with values and not with the bits that stand for them."""
    name = step.target.rpartition(".")[2]

    def build(module: Any) -> Callable[..., object]:
        from flagos_runtime.integration.gems import values  # imported here: it needs Triton

        wraps = {
            "cast_impl": values.cast,
            "create_fp_to_fp": values.cast,
            "create_dot": values.dot,
            "get_bf16": values.constant,
        }
        stock: Any = getattr(module.InterpreterBuilder, name, None)
        return wraps.get(name, values.by_value)(module, stock)

    install_at(context, step, _INTERPRETER, f"InterpreterBuilder.{name}", build)


def install_truth(context: Context, step: StepSpec) -> None:
    """Take a truth value among the arguments of a kernel for one."""

    def build(module: Any) -> Callable[..., object]:
        from flagos_runtime.integration.gems import values  # imported here, as above

        return values.argument(module)

    install_at(context, step, _INTERPRETER, "_implicit_cvt", build)


def install_libdevice(context: Context, step: StepSpec) -> None:
    """Evaluate functions of CUDA's math library on the host."""

    def build(module: Any) -> Callable[..., object]:
        def create(_: object, _name: str, _path: str, symbol: str, arguments: Any, dtype: Any, _pure: object) -> Any:
            kind = module._get_np_dtype(dtype)
            return module.TensorHandle(evaluate(symbol, [item.data for item in arguments], kind), dtype.scalar)

        return create

    install_at(context, step, _INTERPRETER, "InterpreterBuilder.create_extern_elementwise", build)


def install_extern(context: Context, step: StepSpec) -> None:
    """Give the library's functions, which kernels bind when they are defined, the interpreter's semantic."""
    module, _, _ = step.target.rpartition(".")

    def install() -> None:
        functions = sys.modules[module]
        for name, function in tuple(vars(functions).items()):
            if getattr(function, "__triton_builtin__", False):
                context.ledger.install(functions, name, _with_semantic(function), by=step.id)

    on_import(context, module, install)


def _with_semantic(function: Any) -> Callable[..., object]:
    @functools.wraps(function)
    def interpreted(*args: object, **kwargs: object) -> object:
        semantic = sys.modules[_INTERPRETER].interpreter_semantic
        return function(*args, **{**kwargs, "_semantic": semantic})

    return interpreted


def install_generic_extern(context: Context, step: StepSpec) -> None:
    """Let the library that stands for each vendor's mean CUDA's, which is the interpreted one."""
    module, _, _ = step.target.rpartition(".")

    def install() -> None:
        from triton.language.extra.cuda import libdevice  # imported here: where the other is imported, Triton is

        functions = sys.modules[module]
        for name in tuple(vars(functions)):
            if getattr(vars(libdevice).get(name), "__triton_builtin__", False):
                context.ledger.install(functions, name, getattr(libdevice, name), by=step.id)

    on_import(context, module, install)


def install_source(context: Context, step: StepSpec) -> None:
    """Answer what code generators ask a compiled function for: ``src``, ``cache_key`` and ``__globals__``."""
    name = step.target.rpartition(".")[2]
    install_at(context, step, _INTERPRETER, f"InterpretedFunction.{name}", lambda _: property(_ANSWERS[name]))


def _source(function: Any) -> str:
    lines = textwrap.dedent(inspect.getsource(function.fn)).splitlines(keepends=True)
    return "".join(dropwhile(lambda line: not line.startswith("def "), lines))


def _cache_key(function: Any) -> str:
    return hashlib.sha256(f"{function.fn.__module__}.{_source(function)}".encode()).hexdigest()


_ANSWERS: dict[str, Callable[[Any], object]] = {
    "src": _source,
    "cache_key": _cache_key,
    "__globals__": lambda function: function.fn.__globals__,
}


def install_tuner(context: Context, step: StepSpec) -> None:
    """Take the configuration with the largest blocks: interpreted programs cost by their number, and time is no guide.

    Serves ``triton.autotune`` and FlagGems' own tuner.
    """

    def build(_: object) -> Callable[..., object]:
        def run(self: Any, *args: object, **kwargs: object) -> object:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            config = self.best_config = max(self.prune_configs(kwargs), key=_block_size)
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            result = self.fn.run(*args, **kwargs, **config.all_kwargs())
            self.nargs = None
            return result

        return run

    module, _, name = step.target.partition(":")
    install_at(context, step, module, name, build)


def _block_size(config: Any) -> int:
    size = 1
    for value in config.kwargs.values():
        size *= value if isinstance(value, int) and value > 0 else 1
    return size


def install_at(context: Context, step: StepSpec, module: str, name: str, build: Callable[[Any], object]) -> None:
    """Put what *build* makes of *module* in the place of its *name*, now or when the module is imported."""
    path, _, attribute = name.rpartition(".")

    def install() -> None:
        found = sys.modules[module]
        owner = getattr(found, path) if path else found
        context.ledger.install(owner, attribute, build(found), by=step.id)

    on_import(context, module, install)
