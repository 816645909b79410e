"""Torch's C++ side of the device: PrivateUse1 hooks, and a device guard that knows more than one device.

``torch._C._acc`` lets Python supply both, but its guard answers "device 0 of 1" whatever Python says, which would send
``.to("flagos")`` to index 0 and stop autograd on every other index. The guard's device methods are therefore
replaced in a copy of its virtual table. Their slots are read from the header that ships with the installed torch; where
that header is missing, more than one device is refused rather than guessed.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import torch

from flagos_runtime.errors import ActivationError
from flagos_runtime.integration.device.boards import BOARDS

_PRIVATE_USE1 = 20  # c10::DeviceType::PrivateUse1, c10/core/DeviceType.h
_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_HEADER = "include/c10/core/impl/DeviceGuardImplInterface.h"
_WORD = ctypes.sizeof(ctypes.c_void_p)

# c10::Device is two bytes, type and index, and travels in one register
_Device = ctypes.c_uint16
_GET = ctypes.CFUNCTYPE(_Device, ctypes.c_void_p)
_EXCHANGE = ctypes.CFUNCTYPE(_Device, ctypes.c_void_p, _Device)
_SET = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Device)
_SYNCHRONIZE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int8)
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    """What ``torch.accelerator`` asks about the device."""

    active = True

    def is_available(self) -> bool:
        return self.active

    def is_built(self) -> bool:
        return True

    def has_primary_context(self, device_index: int) -> bool:
        return device_index < BOARDS.count


class _Guard(torch._C._acc.DeviceGuard):
    def type_(self) -> object:  # type: ignore[override] # the stubs want torch's enum
        return torch._C._autograd.DeviceType.PrivateUse1


def register(count: int) -> None:
    """Register hooks and guard; a second call finds them there and changes nothing.

    Raises:
        ActivationError: another backend has registered its own, or torch cannot be told of so many devices.
    """
    hooked = torch._C._acc.register_python_privateuseone_hook(_HOOKS)
    guarded = torch._C._acc.register_python_privateuseone_device_guard(_Guard())
    if hooked != guarded or (not guarded and not _TABLE):
        raise ActivationError(f"another backend has registered the device guard of PrivateUse1, '{_owner()}' owns it")
    if guarded:
        _replace_methods(count)


def _replace_methods(count: int) -> None:
    slots = _slots()
    if slots is None:
        if count > 1:
            raise ActivationError(
                f"FLAGOS_SIM_DEVICES={count} needs the header '{_HEADER}' of torch, which is not installed"
            )
        return
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    registry = (ctypes.c_void_p * (_PRIVATE_USE1 + 1)).in_dll(library, _REGISTRY)
    # never null: `register` has just filled the slot
    address: Any = registry[_PRIVATE_USE1]
    guard: Any = ctypes.c_void_p.from_address(address)
    # two words before the table, offset to top and type information, and a second slot of the destructor belong to it
    # (Itanium C++ ABI)
    layout = ctypes.c_void_p * (len(slots) + 3)
    table = layout.from_buffer_copy(layout.from_address(guard.value - 2 * _WORD))
    for name, method in _METHODS.items():
        table[slots[name] + 2] = ctypes.cast(method, ctypes.c_void_p).value
    _TABLE.append(table)
    guard.value = ctypes.addressof(table) + 2 * _WORD


def _slots() -> dict[str, int] | None:
    """Return the position of each virtual method, in order of declaration."""
    header = Path(torch.__file__).parent / _HEADER
    if not header.is_file():
        return None
    names = re.findall(r"^  virtual [^;{]*?(~?\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE)
    slots = {name: position for position, name in enumerate(names)}
    return slots if slots.keys() >= _METHODS.keys() and len(slots) == len(names) else None


def _owner() -> str:
    return torch._C._get_privateuse1_backend_name()


def _device(index: int) -> int:
    return _PRIVATE_USE1 | index << 8


def _get(this: int) -> int:
    return _device(BOARDS.current())


def _exchange(this: int, device: int) -> int:
    previous = BOARDS.current()
    _set(this, device)
    return _device(previous)


def _set(this: int, device: int) -> None:
    index = device >> 8
    # index -1 means "no change", and an exception must not cross into C++
    if index < BOARDS.count:
        BOARDS.use(index)


def _synchronize(this: int, index: int) -> None:
    """Wait for all work on a device: none is ever pending."""


def _count(this: int) -> int:
    return BOARDS.count


# C++ keeps pointers to all of these for as long as the process lives
_HOOKS = _Hooks()
_TABLE: list[object] = []
_METHODS: dict[str, Any] = {
    "exchangeDevice": _EXCHANGE(_exchange),
    "getDevice": _GET(_get),
    "setDevice": _SET(_set),
    "uncheckedSetDevice": _SET(_set),
    "deviceCount": _COUNT(_count),
    "synchronizeDevice": _SYNCHRONIZE(_synchronize),
}


def set_available(active: bool) -> None:  # noqa: FBT001 - a plain setter
    """Let ``torch.accelerator.is_available()`` answer *active*."""
    _HOOKS.active = active
