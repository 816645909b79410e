"""Memory statistics of the boards, under the names that `torch.cuda` gives them."""

from __future__ import annotations

from typing import Any

from flagos_runtime.integration.device.boards import BOARDS
from flagos_runtime.integration.device.random import index_of


def memory_allocated(device: object = None) -> int:
    """Return the bytes that tensors occupy on *device*."""
    return BOARDS.memory[index_of(device)].current


def max_memory_allocated(device: object = None) -> int:
    """Return the largest value of `memory_allocated` since the start or the last reset."""
    return BOARDS.memory[index_of(device)].peak


def memory_reserved(device: object = None) -> int:
    """Return the bytes that the allocator holds: what is allocated, since host memory is given back at once."""
    return BOARDS.memory[index_of(device)].current


def max_memory_reserved(device: object = None) -> int:
    """Return the largest value of `memory_reserved` since the start or the last reset."""
    return BOARDS.memory[index_of(device)].peak


def device_memory_used(device: object = None) -> int:
    """Return the bytes in use on *device*, all processes counted; a board belongs to one process."""
    return BOARDS.memory[index_of(device)].current


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Return free and total bytes of *device*."""
    return BOARDS.capacity - BOARDS.memory[index_of(device)].current, BOARDS.capacity


def memory_stats(device: object = None) -> dict[str, int]:
    """Return the allocator's counters under CUDA's flat keys."""
    flat: dict[str, int] = {}
    _flatten("", memory_stats_as_nested_dict(device), flat)
    return dict(sorted(flat.items()))


def memory_stats_as_nested_dict(device: object = None) -> dict[str, Any]:
    """Return the allocator's counters as nested mappings."""
    memory = BOARDS.memory[index_of(device)]
    counts = _counters(memory.blocks, memory.peak_blocks, memory.total_blocks, memory.total_blocks - memory.blocks)
    sizes = _counters(memory.current, memory.peak, memory.allocated, memory.freed)
    return {
        "allocation": counts,
        "segment": counts,
        "active": counts,
        "allocated_bytes": sizes,
        "reserved_bytes": sizes,
        "active_bytes": sizes,
        "requested_bytes": sizes,
        "inactive_split_bytes": _counters(0, 0, 0, 0),
        "num_alloc_retries": 0,
        "num_ooms": memory.out_of_memory,
        "num_device_alloc": memory.total_blocks,
        "num_device_free": memory.total_blocks - memory.blocks,
    }


def _counters(current: int, peak: int, allocated: int, freed: int) -> dict[str, dict[str, int]]:
    return {"all": {"current": current, "peak": peak, "allocated": allocated, "freed": freed}}


def _flatten(prefix: str, value: Any, into: dict[str, int]) -> None:
    if not isinstance(value, dict):
        into[prefix] = value
        return
    for key, item in value.items():
        _flatten(f"{prefix}.{key}" if prefix else key, item, into)


def reset_peak_memory_stats(device: object = None) -> None:
    """Start the peaks of *device* again from what is allocated now."""
    memory = BOARDS.memory[index_of(device)]
    memory.peak, memory.peak_blocks = memory.current, memory.blocks


def reset_accumulated_memory_stats(device: object = None) -> None:
    """Start the accumulated counters of *device* again from zero."""
    memory = BOARDS.memory[index_of(device)]
    memory.allocated, memory.freed, memory.total_blocks, memory.out_of_memory = 0, 0, memory.blocks, 0


def reset_max_memory_allocated(device: object = None) -> None:
    """Start the peaks of *device* again; the old name of `reset_peak_memory_stats`."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: object = None) -> None:
    """Start the peaks of *device* again; the old name of `reset_peak_memory_stats`."""
    reset_peak_memory_stats(device)


def memory_cached(device: object = None) -> int:
    """Return `memory_reserved`, under its old name."""
    return memory_reserved(device)


def max_memory_cached(device: object = None) -> int:
    """Return `max_memory_reserved`, under its old name."""
    return max_memory_reserved(device)


def memory_snapshot(mempool_id: object = None) -> list[dict[str, object]]:
    """Return the allocator's segments: none, since every tensor has host memory of its own."""
    return []


def memory_summary(device: object = None, abbreviated: bool = False) -> str:  # noqa: FBT001, FBT002 - torch's signature
    """Return the statistics of *device* as a table for people."""
    index = index_of(device)
    memory = BOARDS.memory[index]
    rows = [
        ("allocated bytes", memory.current, memory.peak),
        ("allocations", memory.blocks, memory.peak_blocks),
        ("capacity", BOARDS.capacity, BOARDS.capacity),
    ]
    lines = [f"memory of flagos:{index}{'' if abbreviated else f', out of memory {memory.out_of_memory} time(s)'}"]
    lines += [f"{'':20}{'current':>16}{'peak':>16}"]
    return "\n".join(lines + [f"{name:20}{now:>16}{peak:>16}" for name, now, peak in rows])


def empty_cache() -> None:
    """Give cached memory back: nothing is cached."""


def set_per_process_memory_fraction(fraction: float, device: object = None) -> None:
    """Check the arguments as CUDA does; the limit of a board is FLAGOS_SIM_MEMORY.

    Raises:
        ValueError: *fraction* is outside 0 to 1.
    """
    index_of(device)
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")


def get_per_process_memory_fraction(device: object = None) -> float:
    """Return the share of the board's memory that this process may use: all of it."""
    index_of(device)
    return 1.0


def host_memory_stats() -> dict[str, int]:
    """Return the counters of pinned host memory: the device pins none."""
    return {}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return the counters of pinned host memory: the device pins none."""
    return {}


def reset_peak_host_memory_stats() -> None:
    """Start the peaks of pinned host memory again: the device pins none."""


def reset_accumulated_host_memory_stats() -> None:
    """Start the counters of pinned host memory again: the device pins none."""


def list_gpu_processes(device: object = None) -> str:
    """Return the processes on *device* for people: this one."""
    index = index_of(device)
    return f"GPU:{index}\nthis process uses {BOARDS.memory[index].current / (1 << 20):.3f} MB"


def get_allocator_backend() -> str:
    """Return the name of the allocator behind the boards."""
    return "native"
