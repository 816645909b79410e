"""What must not leave the machine: values of the environment that look like a secret."""

from __future__ import annotations

import re
from typing import Final

MASKED: Final = "<masked>"
#: A name with one of these words holds a secret, whatever its value looks like.
SECRET_WORDS: Final = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
#: User and password before the host of a URL.
LOGIN: Final = re.compile(r"://[^/\s@]+@")
RUN: Final = re.compile(r"[A-Za-z0-9+]{24,}")
UUID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
#: Devices may be named by their UUID, which opens nothing.
NAMES_DEVICES: Final = "VISIBLE_DEVICES"


def masked(name: str, value: str) -> str:
    """Return *value* of the variable *name*, or ``<masked>`` where it may be a secret."""
    return MASKED if _is_secret(name.upper(), value) else value


def _is_secret(name: str, value: str) -> bool:
    if any(word in name for word in SECRET_WORDS) and value:
        return True
    if LOGIN.search(value):
        return True
    return NAMES_DEVICES not in name and _looks_random(value)


def _looks_random(value: str) -> bool:
    """Words and paths have no long run in which letters and digits alternate freely; tokens and hashes have."""
    runs = RUN.findall(value)
    return bool(UUID.search(value)) or any(re.search(r"\d", run) and re.search(r"[A-Za-z]", run) for run in runs)
