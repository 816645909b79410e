"""Arithmetic on bfloat16 for Triton's interpreter, which keeps its bits in integers and computes with those."""

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
    """Return *handle*, which holds float32, as bfloat16; a comparison's result stays as it is."""
    if handle.data.dtype == np.bool_:
        return handle
    return module.TensorHandle(narrowed(handle.data), tl.bfloat16)


def by_value(module: Any, stock: Method) -> Method:
    """Let an operation on values compute in float32 where one of them holds bfloat16."""

    def operate(self: Any, *arguments: Any, **rest: Any) -> Any:
        handles = [item for item in arguments if isinstance(item, module.TensorHandle)]
        if not any(map(is_bfloat16, handles)) or not _BITWISE.isdisjoint(_functions(arguments)):
            return stock(self, *arguments, **rest)
        widths = [wide(module, item) if isinstance(item, module.TensorHandle) else item for item in arguments]
        return narrow(module, stock(self, *widths, **rest))

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
