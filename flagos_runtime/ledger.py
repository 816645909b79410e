"""Originals of what was overwritten, and the only code that writes on things that are not ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType, GetSetDescriptorType, ModuleType
from typing import Any, Final, Protocol

from flagos_runtime.diagnostics import Diagnostic


class _Absent:
    """The original of a place that held nothing of its own."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


class _Place(Protocol):
    """One slot of one owner: how to read, write and empty it."""

    @property
    def key(self) -> tuple[int, object]: ...
    @property
    def target(self) -> str: ...
    def read(self) -> object: ...
    def write(self, value: object) -> None: ...
    def empty(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Attribute:
    owner: object
    name: str

    @property
    def key(self) -> tuple[int, str]:
        return id(self.owner), self.name

    @property
    def target(self) -> str:
        return f"{name_of(self.owner)}.{self.name}"

    def read(self) -> object:
        # the owner's own namespace: getattr would run descriptors and module __getattr__, and find inherited values
        value = namespace_of(self.owner).get(self.name, ABSENT)
        slot = vars(type(self.owner)).get(self.name)
        return slot.__get__(self.owner) if value is ABSENT and isinstance(slot, GetSetDescriptorType) else value

    def write(self, value: object) -> None:
        setattr(self.owner, self.name, value)

    def empty(self) -> None:
        delattr(self.owner, self.name)


@dataclass(frozen=True, slots=True)
class _Item:
    mapping: MutableMapping[Any, Any]
    name: object
    label: str

    @property
    def key(self) -> tuple[int, object]:
        return id(self.mapping), self.name

    @property
    def target(self) -> str:
        return f"{self.label}[{self.name!r}]"

    def read(self) -> object:
        return self.mapping.get(self.name, ABSENT)

    def write(self, value: object) -> None:
        self.mapping[self.name] = value

    def empty(self) -> None:
        del self.mapping[self.name]


@dataclass(frozen=True, slots=True)
class Entry:
    """One write: what stood there, what stands there now, and which step wrote it."""

    target: str
    original: object
    replacement: object
    by: str
    place: _Place | None = None
    undo: Callable[[], None] | None = None

    def drifted(self) -> bool:
        """Tell whether another writer has changed the place since."""
        return self.place is not None and not _same(self.place.read(), self.replacement)


@dataclass(slots=True)
class Ledger:
    """Ordered record of every write; restores in reverse.

    Attributes:
        entries: what can be put back, oldest first.
        irreversible: what cannot, by target; it outlives a restore as the change itself does.
    """

    entries: list[Entry] = field(default_factory=list)
    irreversible: list[str] = field(default_factory=list)

    def install(self, owner: object, name: str, value: object, *, by: str) -> None:
        """Set attribute *name* of *owner*, remembering what its own namespace held."""
        self._write(_Attribute(owner, name), value, by)

    def install_item(
        self, mapping: MutableMapping[Any, Any], name: object, value: object, *, by: str, label: str
    ) -> None:
        """Set one entry of *mapping* (``os.environ``, ``sys.modules``, a registry)."""
        self._write(_Item(mapping, name, label), value, by)

    def insert(self, sequence: MutableSequence[object], index: int, value: object, *, by: str, label: str) -> None:
        """Insert *value* into a registry that torch keeps as a list."""
        sequence.insert(index, value)
        self.adopt(f"{label}[+]", lambda: _remove(sequence, value), by=by)

    def adopt(self, target: str, undo: Callable[[], None], *, by: str) -> None:
        """Take over a registration that somebody else's API made and that *undo* takes back."""
        self.entries.append(Entry(target, ABSENT, ABSENT, by, undo=undo))

    def one_way(self, target: str) -> None:
        """Note a change for which torch offers no undo."""
        if target not in self.irreversible:
            self.irreversible.append(target)

    def original(self, owner: object, name: str) -> object:
        """Return the first original of an attribute, whoever wrote since; the live value where nobody of us wrote."""
        first = next((e for e in self.entries if e.place is not None and e.place.key == (id(owner), name)), None)
        if first is None:
            return getattr(owner, name)
        return inherited(owner, name) if first.original is ABSENT else first.original

    def writers(self, owner: object, name: str) -> tuple[str, ...]:
        """Return the steps that wrote the attribute, oldest first, and the foreign code that wrote it since, if any."""
        key = (id(owner), name)
        entries = [e for e in self.entries if e.place is not None and e.place.key == key]
        foreign = [writer_of(e.place.read()) for e in entries[-1:] if e.place is not None and e.drifted()]
        return tuple([entry.by for entry in entries] + foreign)

    def replacements(self) -> Iterator[tuple[object, object]]:
        """Yield each callable that an attribute of a module has held, with what this ledger put there last."""
        newest = {entry.place.key: entry.replacement for entry in self.entries if entry.place is not None}
        for entry in self.entries:
            owner = entry.place.owner if isinstance(entry.place, _Attribute) else None
            if entry.place is not None and isinstance(owner, ModuleType) and callable(entry.original):
                yield entry.original, newest[entry.place.key]

    def drift(self) -> Iterator[Entry]:
        """Yield the newest entry of each place that no longer holds what we wrote."""
        newest = {entry.place.key: entry for entry in self.entries if entry.place is not None}
        return (entry for entry in newest.values() if entry.drifted())

    def restore(self) -> tuple[Diagnostic, ...]:
        """Put every original back, newest first, and return a report for each place that another writer holds."""
        reports = []
        while self.entries:
            reports.append(_restore(self.entries.pop()))
        return tuple(report for report in reports if report is not None)

    def _write(self, place: _Place, value: object, by: str) -> None:
        entry = Entry(place.target, place.read(), value, by, place)
        self.entries.append(entry)
        place.write(value)


def namespace_of(owner: object) -> Mapping[str, object]:
    """Return the own namespace of a class, module or object without running any code of its."""
    if isinstance(owner, type):
        return vars(owner)
    namespace: Mapping[str, object] = object.__getattribute__(owner, "__dict__")
    return namespace


def inherited(owner: object, name: str) -> object:
    """Return what *owner* answers for *name* without an attribute of its own, ``ABSENT`` for nothing."""
    for base in type(owner).__mro__ if not isinstance(owner, type) else owner.__mro__[1:]:
        if name in vars(base):
            return vars(base)[name]
    return ABSENT


def name_of(owner: object) -> str:
    """Return the dotted name of a module, class or function, and of anything else its type's."""
    if isinstance(owner, (type, FunctionType)):
        return f"{owner.__module__}.{owner.__qualname__}"
    return str(namespace_of(owner).get("__name__") or type(owner).__name__)


def writer_of(value: object) -> str:
    """Name the code that a value comes from, for reports about foreign writers."""
    module, label = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return f"{module}.{label}" if module and label else repr(value)[:80]


def locate(target: str) -> tuple[object, str]:
    """Turn a dotted target into its owner and attribute name.

    Raises:
        LookupError: no module or attribute on the way has that name.
    """
    parts = target.split(".")
    # the longest imported module: a package does not hold a submodule by name while that is still being imported
    lengths = (length for length in range(len(parts) - 1, 0, -1) if ".".join(parts[:length]) in sys.modules)
    length = next(lengths, 0)
    if not length:
        raise LookupError(f"no imported module holds '{target}'")
    owner: object = sys.modules[".".join(parts[:length])]
    for part in parts[length:-1]:
        owner = getattr(owner, part, None)
        if owner is None:
            raise LookupError(f"'{target}': there is no '{part}'")
    return owner, parts[-1]


def _restore(entry: Entry) -> Diagnostic | None:
    if entry.undo is not None:
        entry.undo()
    if entry.place is None:
        return None
    if entry.drifted():
        return _foreign(entry, entry.place.read())
    if entry.original is ABSENT:
        entry.place.empty()
    else:
        entry.place.write(entry.original)
    return None


def _foreign(entry: Entry, now: object) -> Diagnostic:
    found = "removed" if now is ABSENT else f"written by {writer_of(now)}"
    message = f"was installed by '{entry.by}' and since {found}, so it was left as it is"
    hint = "undo the other change before deactivating, or keep it: ours no longer takes effect"
    return Diagnostic("FR601", "warning", entry.target, message, hint)


def _same(now: object, ours: object) -> bool:
    return now is ours or (isinstance(ours, str) and now == ours)


def _remove(sequence: MutableSequence[object], value: object) -> None:
    index = next((i for i, item in enumerate(sequence) if item is value), None)
    with suppress(TypeError):
        del sequence[index]  # type: ignore[arg-type] # None is the TypeError
