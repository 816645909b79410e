"""The ATen overloads of the installed torch, read from its files: importing torch would take most of a second."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flagos_runtime.config.traits import Traits, traits_of

DECLARATIONS: Final = "packaged/ATen/native/native_functions.yaml"
ENTRY: Final = "\n- func: "
GENERATED: Final = "\n  autogen: "
#: torchgen generates no variant of a function that is composed of others, unless it is tagged as core.
GENERATES: Final = re.compile(r"^  (?:dispatch:|tags:.*\bcore\b)", re.MULTILINE)
#: An overload without a name; ``torch.ops.aten.mm.default`` writes it so.
UNNAMED: Final = ".default"
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
    stamp = declarations_stamp()
    return None if stamp is None else frozenset(_entries(*stamp)) | UNDECLARED


def installed_traits() -> Callable[[str], Traits | None]:
    """Return a look-up of traits by ``aten::name.overload``; it gives ``None`` where the schema is not known."""
    stamp = declarations_stamp()
    entries: Mapping[str, str] = {} if stamp is None else _entries(*stamp)

    def look_up(name: str) -> Traits | None:
        entry = entries.get(name)
        return None if entry is None else traits_of(name.removeprefix("aten::"), entry)

    return look_up


def canonical(pattern: str) -> str:
    """Return the one spelling of *pattern*: the overload without a name is ``aten::mm``, not ``aten::mm.default``."""
    return pattern.removesuffix(UNNAMED)


def matched(pattern: str, overloads: frozenset[str]) -> tuple[str, ...]:
    """Return those of *overloads* that ``aten::name.*`` stands for, sorted; they may be none."""
    return _packets(overloads).get(pattern.removesuffix(".*"), ())


@lru_cache(maxsize=1)
def _packets(overloads: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(overloads):
        packet = name.partition(".")[0]
        found[packet] = (*found.get(packet, ()), name)
    return found


def declarations_stamp() -> tuple[str, int, int] | None:
    """Return what changes when another torch is installed: path, size and time of its declarations."""
    file = _file()
    return (str(file), file.stat().st_size, file.stat().st_mtime_ns) if file else None


def _file() -> Path | None:
    # torchgen is a top-level package of torch's own wheel, and finding it imports nothing
    found = find_spec("torchgen")
    folders = (found.submodule_search_locations or ()) if found else ()
    files = (Path(folder) / DECLARATIONS for folder in folders)
    return next((file for file in files if file.is_file()), None)


@lru_cache(maxsize=1)
def _entries(path: str, _size: int, _time: int) -> Mapping[str, str]:
    """Return each overload with the entry that declares it, or that it is generated from."""
    entries = Path(path).read_bytes().decode().split(ENTRY)[1:]
    return {f"aten::{name}": entry for entry in entries for name in _names(entry)}


def _names(entry: str) -> Iterator[str]:
    yield entry.partition("(")[0]
    _, found, rest = entry.partition(GENERATED)
    if found and GENERATES.search(entry):
        yield from rest.partition("\n")[0].replace(" ", "").split(",")
