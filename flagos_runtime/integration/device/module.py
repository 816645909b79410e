"""The functions of `torch.flagos`, under the names and with the meaning of their twins in `torch.cuda`."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace, TracebackType
from typing import TYPE_CHECKING

import torch

from flagos_runtime.integration.device import memory, random, streams
from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.random import index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class device:  # noqa: N801 - the name that torch.cuda gives it
    """Make a board current inside a ``with`` block; -1 and ``None`` change nothing."""

    def __init__(self, device: object) -> None:
        self.idx = -1 if device is None or device == -1 else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.idx = _maybe_exchange_device(self.prev_idx)


class device_of(device):  # noqa: N801 - the name that torch.cuda gives it
    """Make the board of a tensor or storage current; other objects change nothing."""

    def __init__(self, obj: object) -> None:
        place = getattr(obj, "device", None)
        super().__init__(place.index if place is not None and place.type == DEVICE_TYPE else -1)


def _exchange_device(index: int) -> int:
    previous = BOARDS.current()
    if index >= 0:
        BOARDS.use(index)
    return previous


def _maybe_exchange_device(index: int) -> int:
    return _exchange_device(index)


def is_available() -> bool:
    """Tell whether there is a board: there is, for as long as the runtime is active."""
    return BOARDS.count > 0


def is_initialized() -> bool:
    """Tell whether the device is ready for use in this process."""
    return True


def init() -> None:
    """Get the device ready for use; it always is."""


def _lazy_init() -> None:
    """Get the device ready for use; it always is."""


def _lazy_call(callable: Callable[[], object], **_: object) -> None:  # noqa: A002 - torch's signature
    callable()


def _is_in_bad_fork() -> bool:
    return False


def _get_device_index(device: object, optional: bool = False, allow_cpu: bool = False) -> int:  # noqa: FBT001, FBT002
    if allow_cpu and str(device) == "cpu":
        return -1
    return index_of(device, optional=optional)


def device_count() -> int:
    """Return the number of boards, FLAGOS_SIM_DEVICES."""
    return BOARDS.count


def current_device() -> int:
    """Return the index of this thread's current board."""
    return BOARDS.current()


def set_device(device: object) -> None:
    """Make *device* the current board of this thread; a negative index changes nothing.

    Raises:
        RuntimeError: there is no such board.
    """
    if isinstance(device, int) and device < 0:
        return
    BOARDS.use(index_of(device))


def synchronize(device: object = None) -> None:
    """Wait for all work on *device*: none is ever pending."""
    index_of(device)


def get_device_name(device: object = None) -> str:
    """Return the name of the board."""
    return get_device_properties(device).name


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Return (0, 0): the device claims no compute capability of NVIDIA's."""
    index_of(device)
    return 0, 0


def get_device_properties(device: object = None) -> SimpleNamespace:
    """Return what is known of the board; names as in CUDA's record."""
    index_of(device)
    return SimpleNamespace(
        name="flagos sim",
        major=0,
        minor=0,
        total_memory=BOARDS.capacity,
        multi_processor_count=1,
        L2_cache_size=_host_cache(),
        is_integrated=True,
        is_multi_gpu_board=False,
        warp_size=1,
        max_threads_per_multi_processor=1,
        regs_per_multiprocessor=0,
        shared_memory_per_block=0,
        gcnArchName="",
        uuid="00000000-0000-0000-0000-000000000000",
    )


@functools.cache
def _host_cache() -> int:
    """Return the bytes of the host's second-level cache as Linux tells them, 1 MiB where it does not."""
    try:
        return int(Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().rstrip("K\n")) * 1024
    except (OSError, ValueError):
        return 1 << 20


def can_device_access_peer(device: object, peer_device: object) -> bool:
    """Tell whether one board reads another's memory: all memory is the host's."""
    index_of(device, optional=False)
    index_of(peer_device, optional=False)
    return True


def is_bf16_supported(including_emulation: bool = True) -> bool:  # noqa: FBT001, FBT002 - torch's signature
    """Tell whether bfloat16 works: every CPU kernel takes it."""
    return including_emulation


def is_tf32_supported() -> bool:
    """Tell whether TensorFloat-32 is used: it is not."""
    return False


def get_arch_list() -> list[str]:
    """Return the architectures that kernels were built for: none."""
    return []


def get_gencode_flags() -> str:
    """Return compiler flags for `get_arch_list`: none."""
    return ""


def get_sync_debug_mode() -> int:
    """Return 0: nothing here is asynchronous, so there is nothing to warn about."""
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Accept a mode; nothing here is asynchronous, so there is nothing to warn about."""


def is_current_stream_capturing() -> bool:
    """Tell whether a graph is being captured: the device captures none."""
    return False


def ipc_collect() -> None:
    """Free memory that other processes have given back: none is shared."""


def utilization(device: object = None) -> int:
    """Return the share of time in which the board worked, which is not measured: 0."""
    return index_of(device) * 0


def memory_usage(device: object = None) -> int:
    """Return the share of the board's memory in use, in percent."""
    return int(100 * BOARDS.memory[index_of(device)].current / BOARDS.capacity)


def get_amp_supported_dtype() -> Sequence[torch.dtype]:
    """Return the types that autocast may choose; torch asks by this name."""
    return [torch.float16, torch.bfloat16]


def dormant_module() -> ModuleType:
    """Return what stands at ``torch.flagos`` while the runtime is off.

    Torch asks the module of the accelerator that PrivateUse1 names, and the name outlives deactivation.
    """
    module = ModuleType(f"torch.{DEVICE_TYPE}", "The flagos device, which is off (flagos_runtime.activate()).")
    module.__dict__.update(
        is_available=lambda: False,
        is_initialized=lambda: False,
        device_count=lambda: 0,
        manual_seed_all=lambda seed: None,
        _is_in_bad_fork=lambda: False,
    )
    return module


def build_module() -> ModuleType:
    """Return a fresh module for ``torch.flagos`` with everything that this package publishes under it."""
    module = ModuleType(f"torch.{DEVICE_TYPE}", "The flagos device (docs/architecture.md).")
    module.__dict__.update({name: value for part in _PARTS for name, value in _published(part).items()})
    module.__dict__["default_generators"] = BOARDS.generators
    module.__dict__["_initialized"] = True  # checkpointing keeps the generators of an initialized device alone
    module.__dict__["__path__"] = []  # torch imports submodules of a device module by name
    return module


def _published(part: ModuleType) -> dict[str, object]:
    own = {name: value for name, value in vars(part).items() if getattr(value, "__module__", "") == part.__name__}
    return {
        name: value
        for name, value in own.items()
        if name not in _HELPERS and (not name.startswith("_") or name in _PRIVATE)
    }


_PRIVATE = frozenset({
    "_exchange_device", "_get_device_index", "_is_in_bad_fork", "_lazy_call", "_lazy_init", "_maybe_exchange_device",
})  # fmt: skip
_HELPERS = frozenset({"build_module", "dormant_module", "drawing", "index_of", "lent_state"})
_PARTS = (memory, random, streams, sys.modules[__name__])
