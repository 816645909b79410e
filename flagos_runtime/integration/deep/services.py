"""Exercises of what surrounds the numbers: generators, streams, memory figures, the profiler."""

from __future__ import annotations

from types import ModuleType

import torch

from flagos_runtime.integration.deep.exercise import NotServedError, Subject
from flagos_runtime.integration.deep.results import compare, sample

_MIB = 1 << 20


def rng(subject: Subject) -> str:
    """Draw twice from one seed, and look whether the CPU's generator has moved."""
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first, second = (torch.rand(256, device=subject.device_type) for _ in range(2))
    if not torch.equal(torch.get_rng_state(), before):
        raise NotServedError("a draw on the device moves the CPU's generator")
    torch.manual_seed(11)
    compare("a draw from the same seed", torch.rand_like(first), first.cpu(), subject.device_type)
    if torch.equal(first.cpu(), second.cpu()):
        raise NotServedError("two draws in a row are the same")
    return "one seed gives one sequence; the CPU's generator stays where it is"


def streams(subject: Subject) -> str:
    """Let one stream wait for another, and take the time between two events."""
    module = _module(subject)
    side, start, end = module.Stream(), module.Event(enable_timing=True), module.Event(enable_timing=True)
    host = sample(128, 128)
    start.record()
    product = host.to(subject.device_type) @ host.to(subject.device_type)
    end.record()
    with module.stream(side):
        side.wait_event(end)
        total = product.sum(0)
    module.current_stream().wait_stream(side)
    compare("a sum in a stream that waited for the product", total, (host @ host).sum(0), subject.device_type)
    return _elapsed(start, end)


def _elapsed(start: torch.Event, end: torch.Event) -> str:
    end.synchronize()
    if not end.query():
        raise NotServedError("an event that was waited for says that it is pending")
    elapsed_ms = start.elapsed_time(end)
    if elapsed_ms < 0:
        raise NotServedError(f"an event lies {-elapsed_ms:.3f} ms before an earlier one")
    return f"a stream waits for an event of another; {elapsed_ms:.3f} ms between two events"


def memory_stats(subject: Subject) -> str:
    """Look whether the figures follow an allocation and its end."""
    module = _module(subject)
    before = module.memory_allocated()
    block = torch.empty(_MIB, dtype=torch.uint8, device=subject.device_type)
    held = module.memory_allocated() - before
    del block
    left = module.memory_allocated() - before
    if held < _MIB or left != 0:
        raise NotServedError(f"of an allocation of {_MIB} bytes {held} are shown, and {left} after its end")
    return "one MiB is shown while it is held, and not after"


def profiler(subject: Subject) -> str:
    """Look for an operator of the device in a profile."""
    activities = torch.profiler.supported_activities()
    operand = sample(64, 64).to(subject.device_type)
    with torch.profiler.profile(activities=activities) as profile:
        operand.mul(operand)
        _module(subject).synchronize()
    found = profile.events() or []
    if "aten::mul" not in {event.name for event in found}:
        raise NotServedError("a profile does not list the operator that ran")
    on_device = sum(event.device_type != torch.autograd.DeviceType.CPU for event in found)
    names = ", ".join(sorted(activity.name for activity in activities))
    return f"lists aten::mul and {on_device or 'no'} events of the device itself; activities: {names}"


def _module(subject: Subject) -> ModuleType:
    module: ModuleType = getattr(torch, subject.device_type)
    return module
