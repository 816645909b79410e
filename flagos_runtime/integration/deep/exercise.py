"""What an exercise is, what it is given, and how it tells that the device was wrong; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from flagos_runtime.errors import FlagosError


@dataclass(frozen=True, slots=True)
class Subject:
    """The device under measurement: its type, and the platform's names for it in other packages.

    A device in host memory has no code of its own, so that an interpreter serves it as well as a driver does.
    """

    device_type: str
    dist_backend: str = ""
    gems_vendor: str = ""
    in_host_memory: bool = False


@dataclass(frozen=True, slots=True)
class Exercise:
    """One capability and the function that tries it.

    Attributes:
        capability: the name in the capability matrix.
        function: ``module:function``; takes a `Subject`, returns what it saw, and raises where the device failed.
        alone: it may leave traces in its process, so it gets one of its own.
        patience: how many times the usual limit it may take.
    """

    capability: str
    function: str
    alone: bool = False
    patience: float = 1


class NotServedError(FlagosError):
    """The device does not do what the capability says; the message is what was seen."""
