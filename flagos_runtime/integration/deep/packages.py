"""Exercises of the packages around torch: its compiler, its process groups, Triton and FlagGems."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import torch

from flagos_runtime.integration.deep.exercise import NotServedError, Subject
from flagos_runtime.integration.deep.results import compare, sample


def compiled(subject: Subject) -> str:
    """Compile a net as one graph with the default compiler."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).to(subject.device_type)
    batch = sample(4, 8).to(subject.device_type)
    with torch.no_grad():
        got = torch.compile(net, fullgraph=True)(batch)
        compare("the compiled net", got, net(batch).cpu(), subject.device_type)
    return "one graph through the default compiler gives what eager gives"


def distributed(subject: Subject) -> str:
    """Reduce a tensor over a process group of one."""
    dist = torch.distributed
    if not dist.is_available():
        raise NotServedError("torch was built without torch.distributed")
    backend = subject.dist_backend or dist.get_default_backend_for_device(subject.device_type)
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        value = sample(16).to(subject.device_type)
        dist.all_reduce(value)
        compare("all_reduce over one process", value, sample(16), subject.device_type)
        return f"{dist.get_backend()} reduces over a group of one process"
    finally:
        dist.destroy_process_group()


def triton(subject: Subject) -> str:
    """Run a Triton kernel: on the driver for this device, or in Triton's interpreter where that will do."""
    import triton as package

    from flagos_runtime.integration.deep.triton_add import add, interpreted

    missing = _missing_driver(package, subject.device_type)
    if missing and not (subject.in_host_memory or package.knobs.runtime.interpret):
        raise NotServedError(f"triton {package.__version__} has no driver for '{subject.device_type}': {missing}")
    host = sample(100).to(subject.device_type)
    out = torch.empty_like(host)
    kernel: Any = interpreted(add) if missing else package.jit(add)
    kernel[(4,)](host, host, out, host.numel(), block=32)
    compare("a Triton kernel", out, sample(100) * 2, subject.device_type)
    where = f"in its interpreter (TRITON_INTERPRET=1), there is no driver: {missing}" if missing else "on its driver"
    return f"triton {package.__version__} adds right {where}"


def _missing_driver(package: ModuleType, device_type: str) -> str:
    """Return why no driver of Triton serves the device; empty where one does."""
    try:
        served = package.runtime.driver.active.get_active_torch_device().type
    except Exception as error:  # noqa: BLE001 - each vendor's driver fails in its own way
        return str(error).partition("\n")[0] or type(error).__name__
    return "" if served == device_type else f"its driver serves {served}"


def flaggems(subject: Subject) -> str:
    """Import FlagGems, look which vendor it has found, and run one of its kernels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import flag_gems
    if flag_gems.device != subject.device_type:
        raise NotServedError(f"flag_gems serves '{flag_gems.device}', wanted '{subject.device_type}'")
    if subject.gems_vendor not in {"", flag_gems.vendor_name}:
        raise NotServedError(f"flag_gems takes the vendor for '{flag_gems.vendor_name}', not '{subject.gems_vendor}'")
    value = sample(100).to(subject.device_type)
    compare("add of flag_gems", flag_gems.ops.add(value, value), sample(100) * 2, subject.device_type)
    return f"flag_gems {flag_gems.__version__} for '{flag_gems.vendor_name}' adds right"
