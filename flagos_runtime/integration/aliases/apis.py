"""What becomes of each public name of `torch.cuda`: data, complete by test, printed by `flagos-runtime apis`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Treatment = Literal["same", "emulated", "refused"]


class ApiRow(NamedTuple):
    """One name of ``torch.cuda`` and how it is served."""

    name: str
    treatment: Treatment
    detail: str


#: The device module's own function or class stands at the name.
SAME: Final = (
    "Event", "ExternalStream", "Stream", "StreamContext", "can_device_access_peer", "current_device", "current_stream",
    "default_generators", "default_stream", "device", "device_count", "device_memory_used", "device_of", "empty_cache",
    "get_allocator_backend", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
    "get_gencode_flags", "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all",
    "get_stream_from_external", "get_sync_debug_mode", "host_memory_stats", "host_memory_stats_as_nested_dict", "init",
    "initial_seed", "ipc_collect", "is_bf16_supported", "is_current_stream_capturing", "is_initialized",
    "is_tf32_supported", "list_gpu_processes", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "memory_usage",
    "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_host_memory_stats", "reset_peak_memory_stats", "seed", "seed_all",
    "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream",
    "set_sync_debug_mode", "stream", "synchronize", "utilization",
)  # fmt: skip

#: Private names that torch itself and much code around it call.
SAME_PRIVATE: Final = (
    "_exchange_device", "_get_device_index", "_initialized", "_is_in_bad_fork", "_lazy_call", "_lazy_init",
    "_maybe_exchange_device",
)  # fmt: skip

_TENSOR_TYPES: Final = (
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor",
)  # fmt: skip

#: This runtime serves the name in another way than by the device module.
EMULATED: Final[Mapping[str, str]] = {
    "is_available": "the device module answers; torch itself answers inside asking_torch()",
    "nvtx": "ranges and marks are accepted and recorded nowhere",
    **dict.fromkeys(_TENSOR_TYPES, "makes tensors of its dtype on the canonical device"),
}

#: Torch's own object stays, because no device is in it or because it reaches the device by names that are served.
STOCK: Final[Mapping[str, str]] = {
    name: detail
    for detail, names in {
        "torch's own error type": "AcceleratorError CudaError DeferredCudaCallError OutOfMemoryError cudaStatus",
        "torch's own module": "amp gds graphs green_contexts memory nccl profiler random sparse streams tunable",
        "a constant or type of torch's own source": (
            "DEVICE_REQUIREMENT Device PYTORCH_RELEASES_CODE_CC has_half has_magma"
        ),
        "an import of torch's own source": (
            "Any Callable NewType Optional TYPE_CHECKING cast classproperty importlib lru_cache os platform threading "
            "torch traceback warnings"
        ),
    }.items()
    for name in names.split()
}

#: The name has no meaning on the device; calling it raises RefusedError with this reason.
REFUSED: Final[Mapping[str, str]] = {
    name: reason
    for reason, names in {
        "the device captures no graph": "CUDAGraph graph graph_pool_handle make_graphed_callables",
        "the device has no caching allocator to steer": (
            "CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete "
            "caching_allocator_disabled caching_allocator_enable change_current_allocator use_mem_pool"
        ),
        "the device has no CUDA runtime behind it": "GreenContext check_error cudart",
        "the device has no vendor library behind it": "current_blas_handle current_solver_handle jiterator",
        "the device has no sensors": "clock_rate power_draw temperature",
        "legacy storages were made for CUDA alone, use torch.UntypedStorage": (
            "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage "
            "DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage"
        ),
    }.items()
    for name in names.split()
}

UNKNOWN: Final = "this runtime does not know the name, it is newer than the table"


def api_table() -> tuple[ApiRow, ...]:
    """Return a row for each name, in alphabetical order."""
    rows = [ApiRow(f"torch.cuda.{name}", "same", "the device module's own") for name in SAME]
    rows += [ApiRow(f"torch.cuda.{name}", "emulated", detail) for name, detail in {**EMULATED, **STOCK}.items()]
    rows += [ApiRow(f"torch.cuda.{name}", "refused", reason) for name, reason in REFUSED.items()]
    return tuple(sorted(rows))
