"""The `torch.backends` entry point: activate while `import torch` runs, and never break that import."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def autoload() -> None:
    """Activate as the routes say; a failure is logged once and leaves stock torch."""
    try:
        # imported late: whatever is wrong with this package must not stop `import torch`
        from flagos_runtime.activation import on_autoload

        on_autoload()
    except Exception as exc:  # noqa: BLE001 - an entry point that raises breaks `import torch`
        log.warning("flagos_runtime stays inactive: %s", exc)
