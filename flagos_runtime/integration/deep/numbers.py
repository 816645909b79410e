"""Exercises of numbers: each computes the same on the device and on the CPU."""

from __future__ import annotations

import copy

import torch

from flagos_runtime.integration.deep.exercise import NotServedError, Subject
from flagos_runtime.integration.deep.results import compare, kernels, sample


def eager(subject: Subject) -> str:
    """Multiply matrices and cut off below zero."""
    device = subject.device_type
    left, right = sample(5, 7), sample(7, 3)
    got = torch.relu(left.to(device) @ right.to(device))
    compare("relu(a @ b)", got, torch.relu(left @ right), device)
    return f"right on {got.device}; {kernels(device, 'aten::mm', 'aten::relu')}"


def autograd(subject: Subject) -> str:
    """Compare the gradients of a small net."""
    host = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    device = copy.deepcopy(host).to(subject.device_type)
    want, got = _gradients(host, sample(6, 4)), _gradients(device, sample(6, 4).to(subject.device_type))
    for name, value in got.items():
        compare(f"the gradient of {name}", value, want[name], subject.device_type)
    return f"{len(got)} gradients of two linear layers and tanh are right"


def _gradients(net: torch.nn.Module, batch: torch.Tensor) -> dict[str, torch.Tensor]:
    batch.requires_grad_()
    net(batch).square().mean().backward()
    named = {"the input": batch, **dict(net.named_parameters())}
    found = {name: value.grad for name, value in named.items() if value.grad is not None}
    if len(found) != len(named):
        raise NotServedError(f"no gradient for {', '.join(named.keys() - found.keys())}")
    return found


def amp_fp16(subject: Subject) -> str:
    """Multiply matrices under autocast to half precision."""
    return _autocast(subject.device_type, torch.float16)


def amp_bf16(subject: Subject) -> str:
    """Multiply matrices under autocast to bfloat16."""
    return _autocast(subject.device_type, torch.bfloat16)


def _autocast(device: str, dtype: torch.dtype) -> str:
    left, right = sample(5, 7), sample(7, 3)
    with torch.autocast(device, dtype=dtype):
        got = left.to(device) @ right.to(device)
    if got.dtype != dtype:
        raise NotServedError(f"autocast to {dtype} computes a matrix product in {got.dtype}")
    want = left.to(dtype).float() @ right.to(dtype).float()
    compare(f"a @ b under autocast to {dtype}", got, want.to(dtype), device)
    return f"a matrix product of float32 comes out in {dtype}, with the right values"


def fp64(subject: Subject) -> str:
    """Tell numbers apart that are one in single precision."""
    device = subject.device_type
    host = 1 + sample(64, dtype=torch.float64) * 2**-40
    on_device = host.to(device)
    compare("(a * a - 1) * 2**40", (on_device * on_device - 1) * 2**40, (host * host - 1) * 2**40, device)
    compare("sum", on_device.sum(), host.sum(), device)
    return f"keeps differences below 2**-38; {kernels(device, 'aten::mul.Tensor')}"


def int64(subject: Subject) -> str:
    """Compute with integers that no float holds."""
    device = subject.device_type
    host = torch.tensor([2**53 + 1, -(2**62) - 1, 3, 2**53 + 3, 2**62 + 1, -1])
    on_device = host.to(device)
    compare("a copy", on_device, host, device)
    compare("a + 1", on_device + 1, host + 1, device)
    compare("a * -1", on_device * on_device.sign(), host * host.sign(), device)
    compare("sort", on_device.sort().values, host.sort().values, device)
    compare("cumsum", on_device.cumsum(0), host.cumsum(0), device)
    return f"exact beyond 2**53; {kernels(device, 'aten::mul.Tensor', 'aten::sort.stable', 'aten::cumsum')}"


def complex_numbers(subject: Subject) -> str:
    """Multiply, conjugate and measure complex numbers."""
    device = subject.device_type
    host = sample(4, 4, dtype=torch.complex64)
    on_device = host.to(device)
    compare("a * a", on_device * on_device, host * host, device)
    compare("a @ conj(a)", on_device @ on_device.conj(), host @ host.conj(), device)
    compare("abs", on_device.abs(), host.abs(), device)
    return f"complex64 is right; {kernels(device, 'aten::mul.Tensor', 'aten::mm', 'aten::abs')}"
