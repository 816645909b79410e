"""The cases that one overload is tried on."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

import torch

from flagos_runtime.integration.routing.library import overload_of
from flagos_runtime.integration.survey.calls import HOST, Call, spread
from flagos_runtime.integration.survey.recorded import DTYPES, calls_of, database, direct_calls, overload_name
from flagos_runtime.integration.survey.synthesised import Synthesiser, bases, derived, profiles

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo

#: Overload -> entries of torch's operator database that lead to it.
Index = Mapping[str, tuple[str, ...]]

#: Entries of the database that are looked at for one overload, and calls that are taken of each dtype.
ENTRIES: Final = 4
OF_FIRST: Final = 6
OF_OTHERS: Final = 2


@dataclass(frozen=True, slots=True)
class Case:
    """One call to be tried.

    Attributes:
        id: unique within its overload, the same in every run of one cohort.
        kind: where the call comes from.
        dtype: that it was made in, without ``torch.``.
        call: the arguments, on the host.
        with_grad: compare gradients too.
    """

    id: str
    kind: str
    dtype: str
    call: Call
    with_grad: bool = False


class Settings(NamedTuple):
    """What decides which cases there are; part of a survey's cohort."""

    seed: int = 0
    most: int = 32
    largest: int = 4096


def cases_of(overload: str, index: Index, settings: Settings) -> list[Case]:
    """Return the cases of *overload*, at most ``settings.most``."""
    maker = _Maker(overload, index, settings)
    recorded = maker.recorded()
    variants = (maker.laid_out_anew, maker.in_two_dtypes, maker.with_gradient, maker.synthesised)
    unique = {case.id: case for case in chain(recorded, *(make(recorded) for make in variants))}
    return list(islice(unique.values(), settings.most))


class _Maker:
    def __init__(self, overload: str, index: Index, settings: Settings) -> None:
        self.overload = overload
        self.op = overload_of(overload)
        self.index = index
        self.settings = settings
        # overloads are surveyed in any order, and in processes of their own
        self.seed = settings.seed + zlib.crc32(overload.encode()) % 2**31

    def recorded(self) -> list[Case]:
        """Return calls that the database leads to: of the overload, else of what it is a form of, else by its name.

        Calls that the CPU does not take either are left out: another form of an operator may want other arguments.
        """
        groups = (self._own, self._of_bases, self._of_entries_of_its_name)
        return next((found for group in groups if (found := [*self._numbered(group)])), [])

    def _numbered(self, group: Callable[[torch.dtype], Iterator[tuple[str, Call]]]) -> Iterator[Case]:
        for kind in DTYPES:
            fitting = (item for item in group(kind) if self._is_valid(item[1]))
            for at, (source, call) in enumerate(islice(fitting, _quota(kind))):
                title = _title(kind)
                yield Case(f"{source}/{title}/{at}", source.partition("/")[0], title, call)

    def _is_valid(self, call: Call) -> bool:
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call.on(HOST).of(self.op)
        except Exception:  # noqa: BLE001 - whatever the CPU raises, it is no call of the overload
            return False
        return True

    def _own(self, kind: torch.dtype) -> Iterator[tuple[str, Call]]:
        yield from _in_turn(
            (f"recorded/{name}", self._calls(self.overload, item, kind))
            for name, item in self._entries(self.overload).items()
        )

    def _of_bases(self, kind: torch.dtype) -> Iterator[tuple[str, Call]]:
        for base in bases(self.op):
            name = overload_name(base)
            for entry, item in self._entries(name).items():
                for call in self._calls(name, item, kind):
                    made = derived(self.op, base, call)
                    if made is not None:
                        yield f"derived/{name}/{entry}", made

    def _of_entries_of_its_name(self, kind: torch.dtype) -> Iterator[tuple[str, Call]]:
        packet = self.op._schema.name.removeprefix("aten::")
        wanted = {packet, packet.removesuffix("_")}
        entries = [(name, item) for name, item in database().items() if wanted & _names(item)]
        yield from _in_turn(
            (f"direct/{name}", direct_calls(self.op, item, kind, seed=self.seed, most=_quota(kind)))
            for name, item in entries
        )

    def _calls(self, name: str, item: OpInfo, kind: torch.dtype) -> list[Call]:
        return calls_of(frozenset({name}), item, kind, seed=self.seed, most=_quota(kind)).get(name, [])

    def _entries(self, overload: str) -> dict[str, OpInfo]:
        plain = overload.removeprefix("aten::").partition(".")[0].strip("_")
        # an entry of the overload's own name says most about it
        ordered = sorted(
            self.index.get(overload, ()), key=lambda name: (plain not in name.partition(":")[0], len(name), name)
        )
        items = database()
        return {name: items[name] for name in ordered[:ENTRIES]}

    def laid_out_anew(self, recorded: list[Case]) -> Iterator[Case]:
        """Yield a few calls again with tensors that are not contiguous."""
        for case in [item for item in recorded if item.dtype == "float32"][:3]:
            yield Case(f"gaps/{case.id}", "gaps", case.dtype, case.call.mapped(spread))

    def in_two_dtypes(self, recorded: list[Case]) -> Iterator[Case]:
        """Yield one call with its first and its last tensor in another dtype, where the CPU promotes such."""
        fitting = (item for item in recorded if item.dtype == "float32" and _has_two_operands(item.call))
        for case in islice(fitting, 1):
            for at, kind in ((0, torch.int64), (-1, torch.float64)):
                call = case.call.with_dtype(at, kind)
                if self._is_valid(call):
                    yield Case(f"mixed/{_title(kind)}/{case.id}", "mixed", f"{case.dtype}+{_title(kind)}", call)

    def with_gradient(self, recorded: list[Case]) -> Iterator[Case]:
        """Yield one call to be differentiated."""
        fitting = (item for item in recorded if item.dtype == "float32" and _differentiable(item.call))
        if not self.op._schema.is_mutable:
            for case in islice(fitting, 1):
                yield Case(f"grad/{case.id}", "grad", case.dtype, case.call, with_grad=True)

    def synthesised(self, recorded: list[Case]) -> Iterator[Case]:
        """Yield calls made up from the schema, where the database leads to none."""
        shapes = profiles(self.settings.largest)
        maker = Synthesiser(self.op, self.seed, self._is_valid)
        for kind in () if recorded else DTYPES:
            found = 0
            for profile in shapes:
                call = maker.call(profile, kind) if kind == DTYPES[0] or found < OF_OTHERS else None
                if call is not None:
                    found += 1
                    yield Case(f"profile/{profile.name}/{_title(kind)}", "profile", _title(kind), call)


def _in_turn(sources: Iterable[tuple[str, Iterable[Call]]]) -> Iterator[tuple[str, Call]]:
    """Yield one call of each source, then the next of each."""
    named = [[(name, call) for call in calls] for name, calls in sources]
    return (item for row in zip_longest(*named) for item in row if item is not None)


def _names(item: OpInfo) -> set[str]:
    aliases = {alias.name for alias in item.aliases}
    return {name.rpartition(".")[2] for name in {item.name, item.aten_name, *aliases}} | {item.name.replace(".", "_")}


def _quota(kind: torch.dtype) -> int:
    return OF_FIRST if kind == DTYPES[0] else OF_OTHERS


def _title(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def _has_two_operands(call: Call) -> bool:
    return sum(tensor.is_floating_point() for tensor in Call(call.args).tensors()) > 1


def _differentiable(call: Call) -> bool:
    return any(tensor.is_floating_point() for tensor in call.tensors())
