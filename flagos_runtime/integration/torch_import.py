"""The first import of torch, by which a vendor's plugin that raises is told from a mistake of ours."""

from __future__ import annotations

from flagos_runtime.errors import ActivationError

try:
    import torch  # noqa: F401 - the import is the point
except Exception as exc:
    # imported late: needed for a broken installation only
    from flagos_runtime.autoloading import chain, import_failure

    finding = import_failure(chain(exc))
    raise ActivationError(f"{finding.where}: {finding.message}", diagnostics=(finding,)) from exc
