"""Carry a tensor between the host and the flagos device type without copying its memory.

A DLPack capsule names the device type of the tensor that is made from it. Rewriting that one field gives the same
memory under the other device type: sizes, strides and the lifetime of the storage stay as they are.
"""

from __future__ import annotations

import ctypes

import torch

from flagos_runtime.integration.device.boards import BOARDS

# dlpack.h: DLTensor begins with {void* data; DLDevice {int32 device_type; int32 device_id}}
_DEVICE_TYPE_OFFSET = ctypes.sizeof(ctypes.c_void_p)
_KDL_CPU, _KDL_EXT_DEV = 1, 12

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_two_ints = ctypes.c_int32 * 2
_to_capsule = torch._C._to_dlpack
_from_capsule = torch._C._from_dlpack


def _carry(tensor: torch.Tensor, device_type: int, index: int) -> torch.Tensor:
    capsule = _to_capsule(tensor)
    device = _two_ints.from_address(_pointer(capsule, b"dltensor") + _DEVICE_TYPE_OFFSET)
    device[0] = device_type
    device[1] = index
    carried: torch.Tensor = _from_capsule(capsule)
    return carried


def host_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor over the memory of a flagos *tensor*; same sizes, strides and dtype, no autograd history."""
    if tensor.is_conj() or tensor.is_neg():
        return _lazy_bits(tensor)
    return _carry(tensor.detach() if tensor.requires_grad else tensor, _KDL_CPU, 0)


def boxed(host: torch.Tensor, index: int) -> torch.Tensor:
    """Return a flagos tensor over the memory of the CPU tensor *host*, which is charged to board *index*.

    Raises:
        torch.OutOfMemoryError: the board has no room left.
    """
    BOARDS.charge(host, index)
    return _carry(host, _KDL_EXT_DEV, index)


def shared(host: torch.Tensor, index: int) -> torch.Tensor:
    """Return a flagos tensor over memory that some board has been charged for already."""
    return _carry(host, _KDL_EXT_DEV, index)


def _lazy_bits(tensor: torch.Tensor) -> torch.Tensor:
    """Carry the raw memory and set the conjugate and negative bits again: DLPack has no word for them."""
    raw = tensor.detach()
    conj, neg = raw.is_conj(), raw.is_neg()
    raw = torch._conj(raw) if conj else raw
    raw = torch._neg_view(raw) if neg else raw
    host = _carry(raw, _KDL_CPU, 0)
    host = torch.conj(host) if conj else host
    return torch._neg_view(host) if neg else host
