"""The kernels of FlagGems, one overload at a time."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch

from flagos_runtime.errors import KernelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from flagos_runtime.integration.context import Context


def kernel(context: Context, overload: str) -> Callable[..., Any]:
    """Return the function that FlagGems' own table gives for *overload*.

    Raises:
        KernelUnavailableError: FlagGems cannot be imported here, serves another device, or has no function for it.
    """
    gems = _imported()
    if torch.device(gems.device).type != context.device_type:
        raise KernelUnavailableError(
            f"flag_gems {gems.__version__} serves '{gems.device}', which does not mean '{context.device_type}' here"
        )
    found = _table(gems).get(overload.removeprefix("aten::"))
    if found is None:
        raise KernelUnavailableError(f"flag_gems {gems.__version__} has no kernel of {overload} on this torch")
    return found


def _imported() -> Any:
    found = _import()
    if isinstance(found, Exception):
        reason = f"importing flag_gems raised {type(found).__name__}: {found}"
        raise KernelUnavailableError(reason) from found
    return found


@functools.cache
def _import() -> ModuleType | Exception:
    """Import FlagGems once, or return why that fails.

    Its notes to the user go to standard error, since output is the program's own.
    """
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            import flag_gems
    except Exception as error:  # noqa: BLE001 - whatever the package or a compiler below it raises
        return error
    return flag_gems


def _table(gems: Any) -> Mapping[str, Callable[..., Any]]:
    """Return FlagGems' registrations whose conditions hold; the last one of an overload is the one in force."""
    rows = (row for row in gems._FULL_CONFIG if len(row) < _WITH_CONDITION or row[2]())
    return {row[0].removesuffix(".default"): row[1] for row in rows}


_WITH_CONDITION = 3
