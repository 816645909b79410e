"""The ATen overloads of the installed torch, read from its files: importing torch would take most of a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

DECLARATIONS: Final = "packaged/ATen/native/native_functions.yaml"
ENTRY: Final = re.compile(r"^- func: ", re.MULTILINE)
NAME: Final = re.compile(r"[\w.]+")
GENERATED: Final = re.compile(r"^  autogen: (.+)$", re.MULTILINE)
#: torchgen generates no variant of a function that is composed of others, unless it is tagged as core.
GENERATES: Final = re.compile(r"^  (?:dispatch:|tags:.*\bcore\b)", re.MULTILINE)
#: Registered by hand in torch's C++ sources, and declared in no file that is packaged (torch 2.11 to 2.13).
UNDECLARED: Final = frozenset(
    {
        "aten::get_gradients",
        "aten::quantized_gru.data",
        "aten::quantized_gru.data_legacy",
        "aten::quantized_gru.input",
        "aten::quantized_gru.input_legacy",
        "aten::quantized_lstm.data",
        "aten::quantized_lstm.data_legacy",
        "aten::quantized_lstm.input",
        "aten::quantized_lstm.input_legacy",
    }
)


def installed_overloads() -> frozenset[str] | None:
    """Return ``aten::name.overload`` of each overload, ``aten::name`` where it has no name; ``None`` without torch."""
    text = _declarations()
    if text is None:
        return None
    entries = ENTRY.split(text)[1:]
    return frozenset(f"aten::{name}" for entry in entries for name in _names(entry)) | UNDECLARED


def declarations_stamp() -> tuple[str, int, int] | None:
    """Return what changes when another torch is installed: path, size and time of its declarations."""
    file = _file()
    return (str(file), file.stat().st_size, file.stat().st_mtime_ns) if file else None


def _declarations() -> str | None:
    file = _file()
    return file.read_text(encoding="utf-8") if file else None


def _file() -> Path | None:
    # torchgen is a top-level package of torch's own wheel, and finding it imports nothing
    found = find_spec("torchgen")
    folders = (found.submodule_search_locations or ()) if found else ()
    files = (Path(folder) / DECLARATIONS for folder in folders)
    return next((file for file in files if file.is_file()), None)


def _names(entry: str) -> Iterator[str]:
    if name := NAME.match(entry):
        yield name[0]
    generated = GENERATED.search(entry)
    if generated and GENERATES.search(entry):
        yield from generated[1].replace(" ", "").split(",")
