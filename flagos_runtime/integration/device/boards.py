"""The simulated boards: how many, their memory, their generators, and which one each thread uses."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch

DEVICE_TYPE = "flagos"


class DeviceGenerator(torch._C.Generator):
    """Random numbers of one board: a Mersenne twister of its own, apart from the CPU's.

    torch hands a kernel another Python object for the same C++ generator, so boards know theirs by ``_cdata``.
    """

    _index: int

    def __new__(cls, index: int) -> DeviceGenerator:
        """Make the generator by which board *index* is known."""
        new: Any = super().__new__  # torch's stubs know no `_cdata` and only `__init__`
        generator = new(cls, "cpu")
        generator._index = index
        BOARDS.generators_by_address[generator._cdata] = generator
        return generator

    def __init__(self, index: int) -> None:
        """Make a generator for board *index*."""

    @property
    def device(self) -> torch.device:  # type: ignore[override] # an attribute in torch's stubs
        """Return the board's device, with its index."""
        return torch._C.device(DEVICE_TYPE, self._index)

    def __reduce__(self) -> Any:
        return _restored_generator, (self._index, self.get_state())

    def __deepcopy__(self, memo: dict[int, object]) -> DeviceGenerator:
        return _restored_generator(self._index, self.get_state())


def _restored_generator(index: int, state: torch.Tensor) -> DeviceGenerator:
    generator = DeviceGenerator(index)
    generator.set_state(state)
    return generator


@dataclass(slots=True)
class _Memory:
    """Bytes and counts of one board, as its allocator would count them."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0
    blocks: int = 0
    peak_blocks: int = 0
    total_blocks: int = 0
    out_of_memory: int = 0


@dataclass(slots=True)
class Boards:
    """All boards of this process. The hardware is one, so its state is one object, ``BOARDS``."""

    count: int = 1
    capacity: int = 4 << 30
    memory: tuple[_Memory, ...] = ()
    generators: tuple[DeviceGenerator, ...] = ()
    generators_by_address: weakref.WeakValueDictionary[int, DeviceGenerator] = field(
        default_factory=weakref.WeakValueDictionary
    )
    _current: dict[int, int] = field(default_factory=dict)
    _live: dict[int, weakref.ref[torch.Tensor]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def power_on(self, count: int, capacity: int) -> None:
        """Set the number of boards and the bytes of each; a second call with the same figures keeps their state."""
        if self.memory and (self.count, self.capacity) == (count, capacity):
            return
        self.count, self.capacity = count, capacity
        self.memory = tuple(_Memory() for _ in range(count))
        self.generators = tuple(DeviceGenerator(index) for index in range(count))
        for generator in self.generators:
            generator.manual_seed(torch.initial_seed())

    def current(self) -> int:
        """Return the index of the board that this thread uses."""
        return self._current.get(threading.get_ident(), 0)

    def use(self, index: int) -> None:
        """Make board *index* the current one of this thread."""
        self._current[threading.get_ident()] = self.checked(index)

    def checked(self, index: int) -> int:
        """Return *index*, or raise the error that CUDA gives for an ordinal that is not there.

        Raises:
            RuntimeError: there is no such board.
        """
        if not 0 <= index < self.count:
            raise RuntimeError(f"flagos error: invalid device ordinal {index}, this process has {self.count} device(s)")
        return index

    def charge(self, host: torch.Tensor, index: int) -> None:
        """Count the storage of *host* as memory of board *index* until it is freed.

        Raises:
            torch.OutOfMemoryError: the board has no room left.
        """
        size = host.untyped_storage().nbytes()
        memory = self.memory[index]
        with self._lock:
            if memory.current + size > self.capacity:
                memory.out_of_memory += 1
                raise torch.OutOfMemoryError(self._out_of_memory_text(size, index))
            memory.current += size
            memory.allocated += size
            memory.blocks += 1
            memory.total_blocks += 1
            memory.peak = max(memory.peak, memory.current)
            memory.peak_blocks = max(memory.peak_blocks, memory.blocks)
        key = id(host)
        self._live[key] = weakref.ref(host, lambda _: self._free(key, size, index))

    def _free(self, key: int, size: int, index: int) -> None:
        self._live.pop(key, None)
        # no lock: a collector run inside `charge` may land here, and each change is one bytecode under the GIL
        memory = self.memory[index]
        memory.current -= size
        memory.freed += size
        memory.blocks -= 1

    def _out_of_memory_text(self, size: int, index: int) -> str:
        free = self.capacity - self.memory[index].current
        mib = 1 << 20
        return (
            f"flagos out of memory. Tried to allocate {size / mib:.2f} MiB. Device {index} has a total capacity of "
            f"{self.capacity / mib:.2f} MiB of which {free / mib:.2f} MiB is free (FLAGOS_SIM_MEMORY sets it)."
        )


BOARDS = Boards()
