"""What FLAGOS_LOG asks to see: a topic is a logger of this package, shown on standard error."""

from __future__ import annotations

import logging
from typing import Final

VARIABLE: Final = "FLAGOS_LOG"
PACKAGE: Final = "flagos_runtime"


def enable(topics: str) -> None:
    """Let the loggers of *topics*, a comma list, speak; where the program handles logging itself, through that."""
    for topic in filter(None, topics.split(",")):
        logger = logging.getLogger(f"{PACKAGE}.{topic}")
        logger.setLevel(logging.INFO)
        if not logger.hasHandlers():
            logger.addHandler(_handler())


def _handler() -> logging.Handler:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    return handler
