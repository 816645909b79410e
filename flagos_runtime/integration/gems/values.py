"""Types of values in Triton's interpreter.

It keeps the bits of bfloat16 in integers and computes with those, takes a comparison's result for a value of the type
that was compared, and a truth value among the arguments of a kernel for a number of 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
import triton.language as tl

if TYPE_CHECKING:
    from collections.abc import Callable

    Method = Callable[..., Any]

_BITWISE: Final = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift})


def is_bfloat16(handle: Any) -> bool:
    """Tell whether a value of the interpreter holds bfloat16."""
    return handle.dtype.scalar == tl.bfloat16


def widened(data: Any) -> Any:
    """Return the bits of bfloat16 as float32."""
    bits = np.ascontiguousarray(data).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(np.shape(data))


def narrowed(data: Any) -> Any:
    """Return float32 as the bits of bfloat16, rounded to nearest and ties to even."""
    values = torch.from_numpy(np.ascontiguousarray(data, dtype=np.float32)).to(torch.bfloat16)
    return values.view(torch.int16).numpy().view(np.uint16).reshape(np.shape(data))


def wide(module: Any, handle: Any) -> Any:
    """Return *handle* with float32 in the place of bfloat16."""
    return module.TensorHandle(widened(handle.data), tl.float32) if is_bfloat16(handle) else handle


def narrow(module: Any, handle: Any) -> Any:
    """Return *handle*, which holds float32, as bfloat16."""
    return module.TensorHandle(narrowed(handle.data), tl.bfloat16)


def by_value(module: Any, stock: Method) -> Method:
    """Let an operation compute in float32 where a value holds bfloat16, and give a comparison's result its type."""

    def operate(self: Any, *arguments: Any, **rest: Any) -> Any:
        handles = [item for item in arguments if isinstance(item, module.TensorHandle)]
        narrows = any(map(is_bfloat16, handles)) and _BITWISE.isdisjoint(_functions(arguments))
        if narrows:
            arguments = tuple(
                wide(module, item) if isinstance(item, module.TensorHandle) else item for item in arguments
            )
        result = stock(self, *arguments, **rest)
        if result.data.dtype == np.bool_:
            return module.TensorHandle(result.data, tl.int1)
        return narrow(module, result) if narrows else result

    return operate


def _functions(arguments: tuple[Any, ...]) -> list[Any]:
    return [item for item in arguments if isinstance(item, np.ufunc)]


def cast(module: Any, stock: Method) -> Method:
    """Convert from and to bfloat16 by value, whatever the other type is."""

    def convert(self: Any, source: Any, kind: Any, *rest: Any) -> Any:
        if kind.scalar == tl.bfloat16:
            value = source if is_bfloat16(source) else stock(self, source, _like(kind, tl.float32), *rest)
            return value if is_bfloat16(value) else narrow(module, value)
        return stock(self, wide(module, source), kind, *rest)

    return convert


def _like(kind: Any, scalar: Any) -> Any:
    return kind.with_element_ty(scalar) if kind.is_block() else scalar


def dot(module: Any, stock: Method) -> Method:
    """Multiply matrices of bfloat16 by value; the accumulator keeps its own type."""

    def multiply(self: Any, one: Any, other: Any, *rest: Any) -> Any:
        return stock(self, wide(module, one), wide(module, other), *rest)

    return multiply


def constant(module: Any, _: object) -> Method:
    """Give a constant of bfloat16, which the interpreter has no function for."""
    return lambda _, value: module.TensorHandle(narrowed(np.array([value])), tl.bfloat16)


def argument(module: Any) -> Method:
    """Give truth values and fractions among the arguments of a kernel the types that the compiler gives them."""
    stock: Method = module._implicit_cvt
    kinds = {bool: (np.bool_, "int1"), float: (np.float32, "float32")}

    def convert(value: Any) -> Any:
        if type(value) not in kinds:
            return stock(value)
        dtype, name = kinds[type(value)]
        kind = getattr(tl, name)  # not there yet while this module is imported
        with np.errstate(over="ignore"):  # what float32 cannot hold is infinite on a device too
            return tl.tensor(module.TensorHandle(np.array([value], dtype=dtype), kind), kind)

    return convert
