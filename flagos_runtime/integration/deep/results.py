"""A result of the device beside the CPU's: where it lives, its type, its values, and which kernel served it."""

from __future__ import annotations

import torch

from flagos_runtime.integration.deep.exercise import NotServedError

#: Largest difference allowed, relative to the largest value. Exact types have no entry.
_TOLERANCES = {
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
    torch.float32: 1e-4,
    torch.float64: 1e-12,
    torch.complex64: 1e-4,
    torch.complex128: 1e-12,
}


def sample(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers on the CPU, the same ones at each call."""
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(2))


def compare(what: str, got: torch.Tensor, want: torch.Tensor, device_type: str) -> None:
    """Check *got*, a result of the device, against *want*, the CPU's.

    Raises:
        NotServedError: it lives elsewhere, or its type or values differ.
    """
    if got.device.type != device_type:
        raise NotServedError(f"{what} left its result on {got.device}, wanted {device_type}")
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        wanted = f"wanted {want.dtype} {tuple(want.shape)}"
        raise NotServedError(f"{what} gave {got.dtype} {tuple(got.shape)}, {wanted}")
    difference = _difference(got.detach().cpu(), want.detach())
    if not difference <= _TOLERANCES.get(want.dtype, 0.0):
        raise NotServedError(f"{what} differs from the CPU by {difference:.2g} of the largest value")


def _difference(got: torch.Tensor, want: torch.Tensor) -> float:
    if torch.equal(got, want):
        return 0.0
    if want.dtype not in _TOLERANCES:
        # a float would round large integers until they look alike
        return max(abs(int(a) - int(b)) for a, b in zip(got.flatten(), want.flatten(), strict=True)) / _scale(want)
    wide = torch.complex128 if want.is_complex() else torch.float64
    return float((got.to(wide) - want.to(wide)).abs().max()) / _scale(want)


def _scale(want: torch.Tensor) -> float:
    return max(float(want.to(torch.complex128).abs().max()), 1.0)


def kernels(device_type: str, *names: str) -> str:
    """Say which dispatch key has the kernel of each of *names* (``aten::mm``) for the device."""
    key = torch._C._dispatch_key_for_device(device_type)
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(_kernel_key(name, key), []).append(name)
    return "; ".join(f"{', '.join(group)} on {found}" for found, group in by_key.items())


def _kernel_key(name: str, key: str) -> str:
    composite = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return next((item for item in (key, *composite) if has(name, item)), f"the fallback of {key}")
