"""Carry a survey out: overloads over workers, each case noted as it ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flagos_runtime.records import CaseStatus
from flagos_runtime.survey.cohort import Cohort
from flagos_runtime.survey.journal import Journal
from flagos_runtime.survey.processes import Message, Worker
from flagos_runtime.survey.result import CaseEntry

Index = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Orders:
    """How a survey is carried out.

    Attributes:
        cohort: what is surveyed.
        index: the entries of torch's operator database that lead to each overload.
        jobs: workers at the same time.
        timeout_s: seconds that one case may take.
        forked: children are forks of a worker, which only the embedded device survives.
        environment: of the workers.
    """

    cohort: Cohort
    index: Index
    jobs: int
    timeout_s: float
    forked: bool
    environment: Mapping[str, str]


def survey(orders: Orders, journal: Journal, ended: Callable[[str], None]) -> None:
    """Try every overload that *journal* does not have yet, and call *ended* with the name of each.

    An interrupt ends the workers and is raised again; what was noted by then stays.
    """
    pending: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in orders.cohort.overloads:
        if name not in journal.complete:
            pending.put(name)
    crews = [_Crew(orders, journal, pending, ended) for _ in range(orders.jobs)]
    threads = [threading.Thread(target=crew.work, daemon=True) for crew in crews]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    finally:
        for crew in crews:
            crew.stop()
    for crew in crews:
        if crew.error is not None:
            raise crew.error


class _Crew:
    """One worker and the thread that gives it overloads."""

    def __init__(
        self, orders: Orders, journal: Journal, pending: queue.SimpleQueue[str], ended: Callable[[str], None]
    ) -> None:
        self.error: Exception | None = None
        self._orders = orders
        self._journal = journal
        self._pending = pending
        self._ended = ended
        self._stopped = threading.Event()
        self._worker = Worker(orders.environment)

    def work(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    name = self._pending.get_nowait()
                except queue.Empty:
                    return
                self._survey(name)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits for this one
            self.error = error
        finally:
            self._worker.stop()

    def stop(self) -> None:
        self._stopped.set()
        self._worker.stop()

    def _survey(self, name: str) -> None:
        while not self._stopped.is_set():
            if self._ask(name):
                self._journal.end(name)
                self._ended(name)
                return

    def _ask(self, name: str) -> bool:
        """Try the cases of *name* that are not done yet; false where a child died and more may be left."""
        begun: Message | None = None
        for message in self._worker.ask(self._request(name), self._orders.timeout_s):
            if "begun" in message:
                begun = message
            elif "made" in message:
                begun = None
            elif "status" in message:
                self._journal.add(name, _entry(message, message["status"], message["detail"]))
                begun = None
            elif "failed" in message:
                raise RuntimeError(f"the survey's own code failed on {name}:\n{message['failed']}")
            elif "exit" in message:
                return self._ends(name, begun, message)
        return False

    def _ends(self, name: str, begun: Message | None, message: Message) -> bool:
        if not self._orders.forked:
            self._worker.stop()
        if message["exit"] == 0 or self._stopped.is_set():
            return bool(message["exit"] == 0)
        if begun is None:
            said = message.get("said", "")
            raise RuntimeError(f"a worker ended with {message['exit']} before any case of {name}: {said}")
        status: CaseStatus = "TIMEOUT" if message.get("timed_out") else "CRASH"
        detail = f"no answer in {self._orders.timeout_s:g} s" if message.get("timed_out") else _death(message["exit"])
        self._journal.add(name, _entry({**begun, "id": begun["begun"], "seconds": 0.0}, status, detail))
        return False

    def _request(self, name: str) -> dict[str, Any]:
        settings = dict(self._orders.cohort.entry["settings"])
        packet = name.partition(".")[0].rstrip("_")
        return {
            "overload": name,
            "backend": self._orders.cohort.entry["backend"],
            "forked": self._orders.forked,
            "repeats": settings.pop("repeats"),
            "settings": settings,
            # those of its in-place and functional forms too
            "index": {
                key: item for key, item in self._orders.index.items() if key.partition(".")[0].rstrip("_") == packet
            },
            "done": [case["id"] for case in self._journal.cases.get(name, ())],
        }


def _entry(message: Message, status: CaseStatus, detail: str) -> CaseEntry:
    return {
        "id": message["id"],
        "kind": message["kind"],
        "dtype": message["dtype"],
        "status": status,
        "detail": detail,
        "seconds": round(message["seconds"], 4),
    }


def _death(code: int) -> str:
    return f"the process was ended by signal {-code}" if code < 0 else f"the process ended with status {code}"
