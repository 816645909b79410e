"""Streams and events of the boards.

Every operator ends before it returns, so order holds and waiting is over at once.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

import torch

from flagos_runtime.integration.device.boards import BOARDS, DEVICE_TYPE
from flagos_runtime.integration.device.random import index_of


class Stream(torch.Stream):
    """A queue of work on one board.

    Args:
        device: the board; ``None`` means the current one.
        priority: accepted for CUDA's sake, all streams are alike.
    """

    priority: int
    _handle: int

    def __new__(cls, device: object = None, priority: int = 0, **_: object) -> Stream:
        """Make a stream with a handle of its own."""
        stream: Stream = super().__new__(cls, device=torch._C.device(DEVICE_TYPE, index_of(device)))
        stream.priority = priority
        stream._handle = _next_id()
        return stream

    def __init__(self, device: object = None, priority: int = 0, **_: object) -> None:
        """Take the arguments of CUDA's class."""

    @property
    def cuda_stream(self) -> int:
        """Return the handle that native code would get; 0 is the default stream."""
        return self._handle

    def query(self) -> bool:
        """Tell whether all work is done: it is."""
        return True

    def synchronize(self) -> None:
        """Wait for all work: none is pending."""

    def wait_event(self, event: torch.Event) -> None:
        """Let later work wait for *event*."""

    def wait_stream(self, stream: torch.Stream) -> None:
        """Let later work wait for *stream*."""

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Record *event*, or a new one, at the end of the work so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        _stack().append(current_stream(self.device_index))
        set_stream(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_stream(_stack().pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self._handle, self.device_index) == (other._handle, other.device_index)

    def __ne__(self, other: object) -> bool:
        # torch's C type compares for inequality by itself
        return not self == other

    def __hash__(self) -> int:
        return hash((self._handle, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.{DEVICE_TYPE}.Stream device={self.device} id={self._handle}>"


class ExternalStream(Stream):
    """A stream that other code made, known by its handle."""

    def __new__(cls, stream_ptr: int, device: object = None, **_: object) -> ExternalStream:
        """Make a stream with the handle *stream_ptr*."""
        stream: Any = super().__new__(cls, device)
        stream._handle = stream_ptr
        return stream

    def __init__(self, stream_ptr: int, device: object = None, **_: object) -> None:
        """Take the arguments of CUDA's class."""


class Event(torch.Event):
    """A point in the work of a stream, with its time."""

    _timed: bool
    _time_ns: int | None

    def __new__(
        cls,
        enable_timing: bool = False,  # noqa: FBT001, FBT002 - torch's signature
        blocking: bool = False,  # noqa: FBT001, FBT002
        interprocess: bool = False,  # noqa: FBT001, FBT002
        external: bool = False,  # noqa: FBT001, FBT002
    ) -> Event:
        """Make an event on the current board, which keeps time where *enable_timing* says so."""
        event: Event = super().__new__(cls, device=torch._C.device(DEVICE_TYPE, BOARDS.current()))
        event._timed, event._time_ns = enable_timing, None
        return event

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Take the arguments of CUDA's class."""

    def record(self, stream: torch.Stream | None = None) -> None:
        """Record the event at the end of the work so far of *stream*, or of the current one."""
        self._time_ns = time.perf_counter_ns()

    def query(self) -> bool:
        """Tell whether the work before the event is done: it is."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before the event: it is done."""

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Let later work of *stream* wait for the event."""

    def elapsed_time(self, end_event: Any) -> float:
        """Return the milliseconds from this event to *end_event*.

        Raises:
            ValueError: one of the events keeps no time.
            RuntimeError: one of the events was never recorded.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time_ns is None or end_event._time_ns is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time_ns - self._time_ns) / 1e6

    def __repr__(self) -> str:
        return f"<torch.{DEVICE_TYPE}.Event device={self.device}>"


class StreamContext:
    """Make *stream* current inside a ``with`` block; ``None`` changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exc)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context in which *stream* is current."""
    return StreamContext(stream)


def default_stream(device: object = None) -> Stream:
    """Return the stream that every thread starts with."""
    return _as_stream(0, index_of(device))


def current_stream(device: object = None) -> Stream:
    """Return the current stream of this thread on *device*."""
    index = index_of(device)
    found: Stream | None = _LOCAL.__dict__.setdefault("streams", {}).get(index)
    return found or _as_stream(0, index)


def set_stream(stream: Stream | None) -> None:
    """Make *stream* and its board current for this thread; ``None`` changes nothing."""
    if stream is None:
        return
    BOARDS.use(stream.device_index)
    _LOCAL.__dict__.setdefault("streams", {})[stream.device_index] = stream


def get_stream_from_external(data_ptr: int, device: object = None) -> Stream:
    """Return a stream of this module for a handle that other code made."""
    return ExternalStream(data_ptr, device=device)


def _as_stream(handle: int, index: int) -> Stream:
    made = Stream(index)
    made._handle = handle
    return made


def _stack() -> list[Stream]:
    stack: list[Stream] = _LOCAL.__dict__.setdefault("stack", [])
    return stack


def _next_id() -> int:
    _LOCAL.__dict__["last"] = last = _LOCAL.__dict__.get("last", 0) + 1
    return threading.get_ident() << 16 | last


# the current stream of a thread is the thread's own, as on CUDA
_LOCAL = threading.local()
