"""What FlagGems assumes of Triton and of the device, put right by patches that the ledger undoes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from flagos_runtime.integration.compile import on_import
from flagos_runtime.integration.gems.interpreter import install_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagos_runtime.integration.context import Context
    from flagos_runtime.records import StepSpec

_ENTRY = "flag_gems.utils.libentry"

#: FlagGems has no vendor for host memory; this one needs no package of its own and names its device `cuda`.
_VENDOR_OF_SIM = "nvidia"


def install_vendor(context: Context, step: StepSpec) -> None:
    """Name the vendor for FlagGems, which otherwise guesses it from attributes of torch; a set value stays."""
    if not os.environ.get("GEMS_VENDOR"):
        name = context.platform.gems_vendor or _VENDOR_OF_SIM
        context.ledger.install_item(os.environ, "GEMS_VENDOR", name, by=step.id, label="os.environ")


def install_device(context: Context, step: StepSpec) -> None:
    """Name the canonical device as FlagGems' own, which its kernels compare with the device of their arguments."""

    def install() -> None:
        runtime = sys.modules["flag_gems.runtime"]
        context.ledger.install(runtime.device, "name", context.device_type, by=step.id)
        context.ledger.install(runtime, "torch_device_fn", context.device_module, by=step.id)

    on_import(context, "flag_gems.runtime", install)


def install_entry(context: Context, step: StepSpec) -> None:
    """Let FlagGems' cache of compiled kernels take interpreted functions, which have nothing to cache."""

    def build(module: Any) -> Callable[..., None]:
        stock = module.LibEntry.__init__

        def init(self: Any, fn: Any) -> None:
            if _is_interpreted(fn):
                self.fn, self.arg_names = fn, fn.arg_names
            else:
                stock(self, fn)

        return init

    install_at(context, step, _ENTRY, "LibEntry.__init__", build)


def install_entry_run(context: Context, step: StepSpec) -> None:
    """Run an interpreted kernel as it is."""

    def build(module: Any) -> Callable[..., object]:
        stock = module.LibEntry.run

        def run(self: Any, *args: object, **kwargs: object) -> object:
            return (self.fn.run if _is_interpreted(self.fn) else stock.__get__(self))(*args, **kwargs)

        return run

    install_at(context, step, _ENTRY, "LibEntry.run", build)


def install_tuner_key(context: Context, step: StepSpec) -> None:
    """Find the function below a tuner that is not a compiled one."""

    def build(module: Any) -> object:
        stock = module.LibTuner.cache_key

        def key(self: Any) -> object:
            function = _innermost(self.fn)
            return function.cache_key if _is_interpreted(function) else stock.__get__(self, type(self))

        return property(key)

    install_at(context, step, _ENTRY, "LibTuner.cache_key", build)


def install_pointwise(context: Context, step: StepSpec) -> None:
    """Let the code generator of pointwise kernels take interpreted functions."""

    def build(_: object) -> object:
        from triton.runtime.interpreter import InterpretedFunction  # imported here: FlagGems has loaded Triton by now

        return InterpretedFunction

    module, _, name = step.target.rpartition(".")
    install_at(context, step, module, name, build)


def install_philox(context: Context, step: StepSpec) -> None:
    """Let FlagGems draw from the device's generator, whose state may not be the two words that it expects.

    The code of the function is exchanged and not the function: modules that have copied it follow, and no module has to
    be searched for copies.
    """

    def install() -> None:
        function = sys.modules["flag_gems.utils.random_utils"].philox_backend_seed_offset
        context.ledger.install(function, "__code__", _bridge.__code__, by=step.id)

    on_import(context, "flag_gems.utils.random_utils", install)


def _bridge(increment, generator=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - runs in FlagGems
    from flagos_runtime.integration.gems.philox import seed_and_offset  # its globals are not ours

    return seed_and_offset(increment, generator)


def _innermost(function: Any) -> Any:
    """Return what tuners and heuristics are wrapped around."""
    while not hasattr(function, "rewrite") and hasattr(function, "fn"):
        function = function.fn
    return function


def _is_interpreted(function: Any) -> bool:
    return type(_innermost(function)).__name__ == "InterpretedFunction"
