"""Taking a snapshot: every question that a platform may ask is put to this host, and the answer kept."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeVar, cast

from flagos_runtime.autoloading import TorchAnswers, ask_torch
from flagos_runtime.config.variables import VARIABLES
from flagos_runtime.documents import DiagnosticEntry
from flagos_runtime.host import HostView, LiveHost, PciDevice
from flagos_runtime.masking import masked
from flagos_runtime.plugins import load_plugins
from flagos_runtime.probes import FINDERS
from flagos_runtime.records import Platform
from flagos_runtime.report import machine_entry
from flagos_runtime.snapshot_file import SNAPSHOT_VERSION, PciEntry, Snapshot, UnansweredEntry

T = TypeVar("T")
Kind = Literal["path", "pci", "library", "module", "torch"]

#: Kind and subject; PCI devices are one question.
Question = tuple[Kind, str]

#: Asked of torch beside the probes that a route may name.
ANSWERS: Final = ("torch.accelerator.is_available",)
#: Recorded beside what the platforms ask for, because a reader of a snapshot wants to know.
MODULES: Final = (
    "torch", "triton", "flag_gems", "flagcx", "torchada", "transformers", "accelerate", "vllm", "sglang", "numpy",
)  # fmt: skip
FACTS: Final = ("version.__version__", "version.cuda", "version.hip", "version.xpu")
NAMES: Final = (
    "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME", "CUCC_PATH", "LLVM_SYSPATH", "ROCM_PATH", "ROCR_VISIBLE_DEVICES",
    "GCU_VISIBLE_DEVICES", "FLAGTREE_BACKEND", "TORCH_COMPILE_DISABLE", "TRITON_INTERPRET", "VERL_PLATFORM",
    "ENFLAME_PT_OP_DEBUG_CONFIG",
)  # fmt: skip
OURS: Final = "FLAGOS_"
VERSION: Final = re.compile(r"\.so\.([0-9][0-9.]*)$")


class Recorder:
    """A host view that passes each question on and keeps what came of it."""

    def __init__(self, host: HostView) -> None:
        self._host = host
        self.found: dict[Question, object] = {}
        self.refused: dict[Question, Exception] = {}

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables."""
        return self._host.environment

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the paths that match the absolute *pattern*."""
        return self._ask("path", pattern, lambda: self._host.glob(pattern))

    def pci_vendors(self) -> tuple[PciDevice, ...]:
        """Return every PCI device."""
        return self._ask("pci", "", self._host.pci_vendors)

    def library(self, name: str) -> str | None:
        """Return the path of the shared library *name*."""
        return self._ask("library", name, lambda: self._host.library(name))

    def module(self, name: str) -> str | None:
        """Return the version of the module *name*."""
        return self._ask("module", name, lambda: self._host.module(name))

    def torch_fact(self, name: str) -> str | None:
        """Return what torch was built with."""
        return self._ask("torch", name, lambda: self._host.torch_fact(name))

    def _ask(self, kind: Kind, subject: str, put: Callable[[], T]) -> T:
        try:
            answer = put()
        except Exception as exc:
            self.refused[kind, subject] = exc
            raise
        self.found[kind, subject] = answer
        return answer

    def of(self, kind: Kind) -> dict[str, str | None]:
        """Return the answers to the questions of one *kind*, by subject."""
        return {subject: cast("str | None", answer) for (of, subject), answer in self._sorted() if of == kind}

    def subjects(self, kind: Kind) -> list[str]:
        """Return what was asked of one *kind*, whether or not an answer came."""
        return sorted(subject for of, subject in (*self.found, *self.refused) if of == kind)

    def _sorted(self) -> list[tuple[Question, object]]:
        return sorted(self.found.items(), key=lambda item: item[0])


def snapshot_of_this_host() -> Snapshot:
    """Return a snapshot of this machine; torch is asked in a process of its own."""
    from flagos_runtime.integration.catalogue import PROBES  # late, as everywhere outside of integration

    return take_snapshot(LiveHost(), load_plugins().platforms, ask_torch((*PROBES, *ANSWERS)))


def take_snapshot(host: HostView, platforms: Sequence[Platform], torch: TorchAnswers) -> Snapshot:
    """Return all that *platforms* may ask of *host*, with what *torch* answered."""
    recorder = Recorder(host)
    for kind, subject in _questions(platforms):
        # a question that cannot be answered is kept as such, whatever was raised
        with contextlib.suppress(Exception):
            FINDERS[kind](subject, recorder)
    libraries = recorder.of("library")
    return {
        "schema_version": SNAPSHOT_VERSION,
        "host": machine_entry(),
        "environment": recorded_environment(host.environment, platforms),
        "paths": sorted({path for paths in recorder.of("path").values() for path in paths or ()}),
        "pci": _pci(recorder),
        "libraries": libraries,
        "library_versions": dict(_library_versions(libraries)),
        "modules": recorder.of("module"),
        "torch": recorder.of("torch"),
        "answers": dict(torch.answers),
        "torch_failure": cast("DiagnosticEntry", torch.failure.to_dict()) if torch.failure else None,
        "asked": {kind: recorder.subjects(kind) for kind in ("path", "library", "module", "torch")},
        "unanswered": [_unanswered(question, exc) for question, exc in sorted(recorder.refused.items(), key=_question)],
    }


def recorded_environment(environ: Mapping[str, str], platforms: Iterable[Platform]) -> dict[str, str]:
    """Return the variables of the list that are set in *environ*; what looks like a secret is masked."""
    names = {*NAMES, *(item.name for item in VARIABLES), *(name for item in platforms for name in _names(item))}
    kept = (name for name in sorted(environ) if name in names or name.startswith(OURS))
    return {name: masked(name, environ[name]) for name in kept}


def _names(platform: Platform) -> Iterator[str]:
    yield from (*platform.visible_devices, *platform.container_devices, *platform.sdk_variables)
    yield from (name for name, _ in platform.environment)


def _questions(platforms: Iterable[Platform]) -> Iterator[Question]:
    """Yield every subject of every probe: on another host a later one decides."""
    yield "pci", ""
    for name in MODULES:
        yield "module", name
    for name in FACTS:
        yield "torch", name
    for platform in platforms:
        if platform.torch_package is not None:
            yield "module", platform.torch_package
        for spec in platform.probes:
            for subject in spec.subjects:
                yield spec.kind, subject


def _pci(recorder: Recorder) -> list[PciEntry] | None:
    found = cast("tuple[PciDevice, ...] | None", recorder.found.get(("pci", "")))
    if found is None:
        return None
    return [
        {"address": item.address, "vendor": item.vendor, "device": item.device, "class": item.class_} for item in found
    ]


def _library_versions(libraries: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    for name, path in libraries.items():
        match = VERSION.search(os.path.realpath(path)) if path is not None else None
        if match is not None:
            yield name, match[1]


def _question(item: tuple[Question, Exception]) -> Question:
    return item[0]


def _unanswered(question: Question, exc: Exception) -> UnansweredEntry:
    kind, subject = question
    return {"kind": kind, "subject": subject, "error": type(exc).__name__, "message": str(exc)}
