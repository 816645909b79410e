"""Tables of operator backends: read when asked for, once, and a broken one costs nobody else."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from flagos_runtime.backends import tables_of
from flagos_runtime.integration.routing.backends import BACKENDS
from flagos_runtime.plugins import RESERVED_BACKENDS
from flagos_runtime.records import BackendTable, OpBackend


@pytest.fixture
def acme(monkeypatch):
    """Put a module with functions for tables in place."""
    module = ModuleType("acme_tables")
    module.calls = []
    module.good = lambda: module.calls.append("good") or BackendTable(True, "acme 1", frozenset({"aten::mm"}))
    module.raises = lambda: 1 / 0
    module.wrong = lambda: {"aten::mm"}
    monkeypatch.setitem(sys.modules, "acme_tables", module)
    return module


def test_table_is_read_when_asked_for_and_once(acme):
    """Declaring a backend reads nothing; asking twice reads once."""
    backends = (OpBackend("acme", "Acme's", "acme_tables:good", "acme:kernel"),)
    look_up = tables_of(backends)
    before = list(acme.calls)
    found = [look_up("acme"), tables_of(backends)("acme")]

    assert before == []
    assert acme.calls == ["good"]
    assert found[0] is found[1]


def test_backend_without_a_table_serves_everything():
    """Its reason is its summary."""
    table = tables_of((OpBackend("vendor", "the kernel that the device has"),))("vendor")

    assert table == BackendTable(True, "the kernel that the device has", None)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("acme_tables:raises", "its table could not be read: ZeroDivisionError: division by zero"),
        ("acme_tables:absent", "its table could not be read: AttributeError"),
        ("acme_absent:table", "its table could not be read: ModuleNotFoundError"),
        ("acme_tables:wrong", "its table is set, wanted BackendTable"),
    ],
)
def test_broken_table_is_an_unavailable_backend(acme, place, reason):
    """What a plugin's function does wrong is the reason why the backend is unavailable."""
    table = tables_of((OpBackend("acme", "Acme's", place, "acme:kernel"),))("acme")

    assert not table.available
    assert table.reason.startswith(reason)


def test_overload_without_a_name_has_one_spelling(acme):
    """A table may write the overload without a name as the default, as torch.ops does."""
    acme.spelt = lambda: BackendTable(True, "acme 1", frozenset({"aten::mm.default", "aten::sort.stable"}))

    table = tables_of((OpBackend("acme", "Acme's", "acme_tables:spelt", "acme:kernel"),))("acme")

    assert table.overloads == {"aten::mm", "aten::sort.stable"}


def test_unknown_backend_is_unavailable():
    """A name that nobody declared serves nothing."""
    assert tables_of(())("acme") == BackendTable(False, "no backend is called 'acme'")


def test_names_of_this_runtime_are_reserved():
    """A plugin cannot take the name of a backend that this runtime brings."""
    assert {item.name for item in BACKENDS} == RESERVED_BACKENDS
