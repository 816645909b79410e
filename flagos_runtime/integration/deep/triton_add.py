"""A kernel for Triton; in a module of its own, because Triton reads the source and imports at the top."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.runtime.interpreter import InterpretedFunction


# Triton reads an annotation as the argument's type in the kernel
def add(left, right, out, count, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001
    """Add two vectors."""
    index = tl.program_id(0) * block + tl.arange(0, block)
    inside = index < count
    total = tl.load(left + index, mask=inside) + tl.load(right + index, mask=inside)
    tl.store(out + index, total, mask=inside)


def interpreted(function: Any) -> Any:
    """Return *function* as a kernel for the interpreter, whatever TRITON_INTERPRET says."""
    return InterpretedFunction(function)
