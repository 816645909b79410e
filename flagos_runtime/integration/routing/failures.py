"""Which errors are a kernel's and not its caller's."""

from __future__ import annotations

import sys
from typing import Final

#: Errors of compilers, by module and name: none of them is imported to ask.
_COMPILERS: Final = (
    ("triton.compiler.errors", "CompilationError"),
    ("triton.runtime.errors", "TritonError"),
)


def is_kernel_failure(error: BaseException) -> bool:
    """Tell whether *error* says that a kernel does not exist or does not compile.

    Wrong shapes and types are the caller's fault, whoever finds them.
    """
    if isinstance(error, NotImplementedError):
        return True
    kinds = (getattr(sys.modules.get(module), name, None) for module, name in _COMPILERS)
    return any(isinstance(kind, type) and isinstance(error, kind) for kind in kinds)
