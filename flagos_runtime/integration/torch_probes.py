"""Probes that need torch: its own answers, and what a live probe says beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from flagos_runtime.ledger import Ledger, locate
from flagos_runtime.plan import ProbeStatus

log = logging.getLogger(__name__)


def answers_of(targets: Iterable[str], original: Callable[[str], Any]) -> dict[str, bool | None]:
    """Return the answer of each probe as *original* gives it; ``None`` where it cannot be asked.

    With `flagos_runtime.original` these are torch's own answers; a live lookup would be misled by every redirect.
    """
    return {target: _ask(target, original) for target in targets}


def _ask(target: str, lookup: Callable[[str], Any]) -> bool | None:
    try:
        return bool(lookup(target)())
    except Exception as exc:  # noqa: BLE001 - a probe's border: an answer that does not come is unknown, not an end
        log.debug("probe %s gave no answer: %s", target, exc)
        return None


def live(target: str) -> Any:
    """Return what stands at *target* now."""
    owner, name = locate(target)
    return getattr(owner, name)


def probe_status(target: str, ledger: Ledger) -> ProbeStatus:
    """Return both answers of a live probe and everybody who wrote it."""
    owner, name = locate(target)
    writers = ledger.writers(owner, name)
    ours = sum(writer.startswith("probe:") or writer.startswith("alias:") for writer in writers)
    state = "stock" if not writers else "redirected" if len(writers) == ours else "drifted"
    return ProbeStatus(
        name=target,
        original=str(_ask(target, lambda _: ledger.original(owner, name))),
        live=str(_ask(target, live)),
        redirected_by=writers[0] if writers else "",
        state=state,  # type: ignore[arg-type] # one of the three
        writers=writers,
    )
