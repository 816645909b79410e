"""What may be asked of the host: files, PCI devices, environment, libraries, modules; live or replayed.

A question that cannot be put at all (no ``/sys``, no permission) raises ``OSError``. An answer of ``None`` or ``()``
therefore always means "looked, and it is not there".
"""

from __future__ import annotations

import glob
import importlib.util
import os
import platform
import re
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, cast

from flagos_runtime.errors import FlagosError

PCI_DEVICES: Final = "/sys/bus/pci/devices"
LD_CACHE: Final = "/etc/ld.so.cache"
LIBRARY_DIRS: Final = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
CACHE_MAGIC: Final = b"glibc-ld.so.cache1.1"
#: glibc's ``struct file_entry_new``: flags, key, value, osversion, hwcap.
CACHE_ENTRY: Final = struct.Struct("=iIIIQ")
CACHE_HEADER_SIZE: Final = 48
#: glibc's flag of the native word size, so that a 32-bit library beside a missing 64-bit one is not taken for it.
CACHE_MACHINES: Final[Mapping[str, int]] = MappingProxyType({"x86_64": 0x0300, "aarch64": 0x0A00})


class UnansweredError(FlagosError, OSError):
    """This host view cannot put the question, so the answer is unknown."""


class PciDevice(NamedTuple):
    """One PCI device; ids as sysfs writes them (``0x10de``, ``0x2684``, class ``0x030000``)."""

    address: str
    vendor: str
    device: str
    class_: str


#: What a live host raises for a question that it cannot answer; a replay raises the same.
REFUSALS: Final[Mapping[str, type[Exception]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (UnansweredError, OSError, FileNotFoundError, NotADirectoryError, PermissionError, ValueError)
    }
)


class HostView(Protocol):
    """The questions that a probe may ask. None of them runs, loads or imports anything."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables."""
        ...

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the paths that match the absolute *pattern*, sorted."""
        ...

    def pci_vendors(self) -> tuple[PciDevice, ...]:
        """Return every PCI device with its vendor."""
        ...

    def library(self, name: str) -> str | None:
        """Return the path of the shared library *name* (a soname or an absolute path)."""
        ...

    def module(self, name: str) -> str | None:
        """Return the version of the top-level module *name*, ``""`` where it states none."""
        ...

    def torch_fact(self, name: str) -> str | None:
        """Return what torch was built with, for instance ``version.cuda``."""
        ...


class LiveHost:
    """This machine. PCI devices, the loader's cache and the names in a folder are read once for each object."""

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        environment: Mapping[str, str] | None = None,
        search_path: Sequence[str] | None = None,
    ) -> None:
        """Look below *root*; *search_path* takes the place of Python's own way to find modules."""
        self._root = str(root).rstrip("/")
        self._search_path = search_path
        self._listed: dict[str, tuple[str, ...]] = {}
        self.environment: Mapping[str, str] = os.environ if environment is None else environment

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the paths that match the absolute *pattern*, sorted."""
        _require_absolute(pattern)
        folder, name = os.path.split(pattern)
        self._require_readable(folder)
        # most patterns of a host match nothing in /dev, and a look at its names tells so at a tenth of the cost
        beginning = re.split(r"[*?[]", name)[0]
        if not glob.has_magic(folder) and not any(found.startswith(beginning) for found in self._names_in(folder)):
            return ()
        return tuple(sorted(f"/{name}" for name in glob.glob(pattern.lstrip("/"), root_dir=self._root or "/")))

    def pci_vendors(self) -> tuple[PciDevice, ...]:
        """Return every PCI device that sysfs lists, in the order of addresses."""
        return self._pci_devices

    def library(self, name: str) -> str | None:
        """Return where the dynamic loader would find *name*, without loading it."""
        candidates = (name,) if name.startswith("/") else self._library_candidates(name)
        return next((path for path in candidates if os.path.exists(self._root + path)), None)

    def module(self, name: str) -> str | None:
        """Return the version of the top-level module *name*, without importing it."""
        if "." in name:
            raise ValueError(f"'{name}' is not a top-level module: finding it would import its parent")
        spec = self._module_spec(name)
        # a folder of that name in the working directory is a namespace package and no installed module
        return None if spec is None or spec.origin is None else self._module_version(name)

    def torch_fact(self, name: str) -> str | None:
        """Return a value of ``torch/version.py`` as it is written there."""
        prefix, _, field = name.partition(".")
        if prefix != "version" or not field.isidentifier():
            raise ValueError(f"'{name}' is not a torch fact, wanted 'version.<name>'")
        match = re.search(rf"^{field}\b[^=\n]*=\s*['\"]([^'\"\n]*)['\"]", self._torch_version_text, re.MULTILINE)
        return match[1] if match else None

    @cached_property
    def _pci_devices(self) -> tuple[PciDevice, ...]:
        folder = self._root + PCI_DEVICES
        if not os.path.isdir(folder):
            # a sysfs without PCI says that there is no PCI bus; no sysfs says nothing
            os.listdir(f"{self._root}/sys/bus")
            return ()
        devices = (_pci_device(folder, address) for address in sorted(os.listdir(folder)))
        return tuple(device for device in devices if device is not None)

    @cached_property
    def _loader_cache(self) -> dict[str, list[str]]:
        try:
            data = Path(self._root + LD_CACHE).read_bytes()
        except FileNotFoundError:
            return {}
        found: dict[str, list[str]] = {}
        for name, path in loader_cache_entries(data, platform.machine()):
            found.setdefault(name, []).append(path)
        return found

    @cached_property
    def _torch_version_text(self) -> str:
        spec = self._module_spec("torch")
        if spec is None or not spec.submodule_search_locations:
            raise UnansweredError("torch is not installed")
        return Path(next(iter(spec.submodule_search_locations)), "version.py").read_text(encoding="utf-8")

    def _names_in(self, folder: str) -> tuple[str, ...]:
        if folder not in self._listed:
            place = f"{self._root}{folder}"
            self._listed[folder] = tuple(os.listdir(place)) if os.path.isdir(place) else ()
        return self._listed[folder]

    def _require_readable(self, folder: str) -> None:
        # glob itself answers "nothing there" for a folder that it may not read
        place = f"{self._root}{folder}"
        if os.path.isdir(place) and not os.access(place, os.R_OK | os.X_OK):
            raise PermissionError(f"no permission to read '{folder}'")

    def _library_candidates(self, name: str) -> Iterator[str]:
        """Yield the places of *name* in the loader's order."""
        listed = self.environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
        yield from (os.path.join(folder, name) for folder in listed if folder.startswith("/"))
        yield from self._loader_cache.get(name, ())
        triplet = f"{platform.machine()}-linux-gnu"
        folders = (f"/lib/{triplet}", f"/usr/lib/{triplet}", *LIBRARY_DIRS)
        yield from (os.path.join(folder, name) for folder in folders)

    def _module_spec(self, name: str) -> ModuleSpec | None:
        if self._search_path is not None:
            return PathFinder.find_spec(name, self._search_path)
        try:
            return importlib.util.find_spec(name)
        except ValueError:
            # a stand-in that somebody put into sys.modules has no spec; it is not the installed module
            return None

    def _module_version(self, name: str) -> str:
        # imported late: 15 ms in a process that has not loaded it yet
        from importlib import metadata

        paths = sys.path if self._search_path is None else self._search_path
        found = next(iter(metadata.distributions(name=name, path=list(paths))), None)
        return (found.version or "") if found else ""


class ReplayHost:
    """A host that was recorded as plain data; a section that is missing cannot be asked.

    Sections: ``environment`` {name: value}, ``paths`` [path], ``pci`` [{address, vendor, device, class}],
    ``libraries`` {name: path or None}, ``modules`` {name: version or None}, ``torch`` {fact: value or None}.

    Where it has them, ``asked`` {kind: [subject]} makes every other subject unknown instead of absent, and
    ``unanswered`` [{kind, subject, error, message}] lists the questions that the host could not answer.
    """

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables of the recorded process; none where they were not recorded."""
        return cast("Mapping[str, str]", self._data.get("environment", {}))

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the recorded paths that match the absolute *pattern*, sorted."""
        _require_absolute(pattern)
        paths = cast("Sequence[str]", self._section("paths", "path", pattern))
        return tuple(sorted(path for path in paths if PurePosixPath(path).match(pattern)))

    def pci_vendors(self) -> tuple[PciDevice, ...]:
        """Return the recorded PCI devices."""
        rows = cast("Sequence[Mapping[str, str]]", self._section("pci", "pci", ""))
        return tuple(PciDevice(row["address"], row["vendor"], row["device"], row["class"]) for row in rows)

    def library(self, name: str) -> str | None:
        """Return the recorded path of the library *name*."""
        return self._recorded("libraries", "library", name)

    def module(self, name: str) -> str | None:
        """Return the recorded version of the module *name*."""
        return self._recorded("modules", "module", name)

    def torch_fact(self, name: str) -> str | None:
        """Return the recorded torch fact *name*."""
        return self._recorded("torch", "torch", name)

    @cached_property
    def _unanswered(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        rows = cast("Sequence[Mapping[str, str]]", self._data.get("unanswered", ()))
        return {(row["kind"], row["subject"]): row for row in rows}

    def _recorded(self, section: str, kind: str, name: str) -> str | None:
        return cast("Mapping[str, str | None]", self._section(section, kind, name)).get(name)

    def _section(self, name: str, kind: str, subject: str) -> object:
        if row := self._unanswered.get((kind, subject)):
            raise REFUSALS.get(row["error"], UnansweredError)(row["message"])
        section = self._data.get(name)
        if section is None:
            raise UnansweredError(f"the snapshot does not record '{name}'")
        asked = cast("Mapping[str, Sequence[str]] | None", self._data.get("asked"))
        if asked is not None and subject and subject not in asked.get(kind, ()):
            raise UnansweredError(f"the snapshot does not record '{subject}'")
        return section


def loader_cache_entries(data: bytes, machine: str) -> Iterator[tuple[str, str]]:
    """Yield (soname, path) for each library of *machine* in the bytes of glibc's ``ld.so.cache``."""
    start = data.find(CACHE_MAGIC)
    if start < 0:
        return
    cache = data[start:]
    count = int.from_bytes(cache[20:24], sys.byteorder)
    end = CACHE_HEADER_SIZE + count * CACHE_ENTRY.size
    wanted = CACHE_MACHINES.get(machine)
    for flags, key, value, _, _ in CACHE_ENTRY.iter_unpack(cache[CACHE_HEADER_SIZE:end]):
        if wanted is None or flags & 0xFF00 == wanted:
            yield _text_at(cache, key), _text_at(cache, value)


def _text_at(data: bytes, offset: int) -> str:
    return os.fsdecode(data[offset : data.index(b"\0", offset)])


def _pci_device(folder: str, address: str) -> PciDevice | None:
    try:
        vendor, device, class_ = (_line(f"{folder}/{address}/{name}") for name in ("vendor", "device", "class"))
    except FileNotFoundError:
        return None  # unplugged between the listing and the reading
    return PciDevice(address, vendor, device, class_)


def _line(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def _require_absolute(pattern: str) -> None:
    if not pattern.startswith("/"):
        raise ValueError(f"'{pattern}' is not an absolute pattern")
