"""The ledger: originals, restores in reverse, and what another writer did meanwhile."""

from __future__ import annotations

import os
import types

import pytest

from flagos_runtime.ledger import ABSENT, Ledger, locate


class Base:
    def method(self) -> str:
        return "base"


class Child(Base):
    pass


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType("made")
    made.value = "stock"  # type: ignore[attr-defined]
    return made


def test_restore_puts_back_the_same_object(module: types.ModuleType) -> None:
    """After a restore the place holds the original by identity."""
    original, ledger = object(), Ledger()
    module.value = original  # type: ignore[attr-defined]
    ledger.install(module, "value", object(), by="a")

    ledger.restore()

    assert module.value is original  # type: ignore[attr-defined]


def test_restore_deletes_what_was_absent(module: types.ModuleType) -> None:
    """A name that did not exist does not exist afterwards."""
    ledger = Ledger()
    ledger.install(module, "fresh", 1, by="a")

    ledger.restore()

    assert "fresh" not in vars(module)


def test_restore_deletes_attribute_that_was_inherited() -> None:
    """Undoing a patch on a subclass leaves no own attribute behind."""
    ledger = Ledger()
    ledger.install(Child, "method", lambda self: "patched", by="a")
    patched = Child().method()

    ledger.restore()

    assert patched == "patched"
    assert "method" not in vars(Child)
    assert Child().method() == "base"


def test_static_methods_come_back_as_descriptors() -> None:
    """The raw descriptor is recorded, not what getattr makes of it."""

    class Owner:
        @staticmethod
        def make() -> int:
            return 1

    raw, ledger = vars(Owner)["make"], Ledger()
    ledger.install(Owner, "make", staticmethod(lambda: 2), by="a")
    ledger.restore()

    assert vars(Owner)["make"] is raw


def test_two_writes_are_undone_newest_first(module: types.ModuleType) -> None:
    """A place that was written twice comes back to the first original."""
    ledger = Ledger()
    ledger.install(module, "value", "one", by="a")
    ledger.install(module, "value", "two", by="b")

    reports = ledger.restore()

    assert (module.value, reports) == ("stock", ())  # type: ignore[attr-defined]


def test_original_is_the_first_one_whoever_wrote_since(module: types.ModuleType) -> None:
    """Neither our second write nor a foreign one changes the answer."""
    ledger = Ledger()
    ledger.install(module, "value", "one", by="a")
    ledger.install(module, "value", "two", by="b")
    module.value = "foreign"  # type: ignore[attr-defined]

    assert ledger.original(module, "value") == "stock"


def test_original_of_an_inherited_name_is_the_inherited_one() -> None:
    """The original of a method that a base class provides is the base's."""
    ledger = Ledger()
    ledger.install(Child, "method", lambda self: "patched", by="a")

    found = ledger.original(Child, "method")
    ledger.restore()

    assert found is vars(Base)["method"]


def test_original_of_an_unwritten_place_is_live(module: types.ModuleType) -> None:
    """Where nothing was written the live value is the answer."""
    assert Ledger().original(module, "value") == "stock"


def test_foreign_write_survives_a_restore_and_is_reported(module: types.ModuleType) -> None:
    """Another writer's value stays, and the report names the place, our step and the writer."""

    def foreign() -> None: ...

    ledger = Ledger()
    ledger.install(module, "value", "ours", by="step:x")
    module.value = foreign  # type: ignore[attr-defined]

    (report,) = ledger.restore()

    assert module.value is foreign  # type: ignore[attr-defined]
    assert (report.code, report.where) == ("FR601", "made.value")
    assert "step:x" in report.message
    assert "foreign" in report.message


def test_writers_name_ours_and_the_foreign_one(module: types.ModuleType) -> None:
    """Writers are listed in order of writing."""

    def second() -> None: ...

    ledger = Ledger()
    ledger.install(module, "value", "ours", by="step:x")
    module.value = second  # type: ignore[attr-defined]

    first, last = ledger.writers(module, "value")

    assert first == "step:x"
    assert last.endswith("second")


def test_drift_is_empty_until_somebody_writes(module: types.ModuleType) -> None:
    """Drift lists the places that no longer hold what was installed."""
    ledger = Ledger()
    ledger.install(module, "value", "ours", by="a")
    before = [entry.target for entry in ledger.drift()]
    module.value = "foreign"  # type: ignore[attr-defined]

    assert before == []
    assert [entry.target for entry in ledger.drift()] == ["made.value"]


def test_environment_entries_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that was unset is unset again, one that was set has its value."""
    monkeypatch.setenv("LEDGER_SET", "old")
    monkeypatch.delenv("LEDGER_UNSET", raising=False)
    ledger = Ledger()
    for name in ("LEDGER_SET", "LEDGER_UNSET"):
        ledger.install_item(os.environ, name, "new", by="a", label="os.environ")

    ledger.restore()

    assert os.environ["LEDGER_SET"] == "old"
    assert "LEDGER_UNSET" not in os.environ


def test_insertions_are_taken_out_by_identity() -> None:
    """An equal element of somebody else stays in the list."""
    mine, theirs = [1], [1]
    registry: list[object] = [theirs]
    ledger = Ledger()
    ledger.insert(registry, 0, mine, by="a", label="registry")

    ledger.restore()

    assert registry[0] is theirs
    assert len(registry) == 1


def test_insertion_that_somebody_removed_is_no_error() -> None:
    """A registry that was cleared meanwhile stays as it is."""
    registry: list[object] = []
    ledger = Ledger()
    ledger.insert(registry, 0, object(), by="a", label="registry")
    registry.clear()

    assert ledger.restore() == ()


def test_adopted_registrations_are_undone_in_reverse() -> None:
    """The last registration is taken back first."""
    undone: list[str] = []
    ledger = Ledger()
    ledger.adopt("one", lambda: undone.append("one"), by="a")
    ledger.adopt("two", lambda: undone.append("two"), by="a")

    ledger.restore()

    assert undone == ["two", "one"]


def test_second_restore_changes_nothing(module: types.ModuleType) -> None:
    """A restore with nothing recorded leaves later writes alone."""
    ledger = Ledger()
    ledger.install(module, "value", "ours", by="a")
    ledger.restore()
    module.value = "later"  # type: ignore[attr-defined]

    ledger.restore()

    assert module.value == "later"  # type: ignore[attr-defined]


def test_one_way_changes_are_named_once_and_outlive_a_restore() -> None:
    """What torch cannot undo stays on the list."""
    ledger = Ledger()
    ledger.one_way("the name")
    ledger.one_way("the name")
    ledger.restore()

    assert ledger.irreversible == ["the name"]


def test_module_getattr_is_not_asked(module: types.ModuleType) -> None:
    """A module that raises on any attribute is written and restored without being asked."""

    def explode(name: str) -> object:
        raise RuntimeError(name)

    module.__getattr__ = explode  # type: ignore[method-assign]
    ledger = Ledger()
    ledger.install(module, "fresh", 1, by="a")

    ledger.restore()

    assert "fresh" not in vars(module)


def test_absent_is_not_none(module: types.ModuleType) -> None:
    """A place that held None is restored to None."""
    module.value = None  # type: ignore[attr-defined]
    ledger = Ledger()
    ledger.install(module, "value", 1, by="a")
    ledger.restore()

    assert vars(module)["value"] is None
    assert repr(ABSENT) == "ABSENT"


def test_locate_finds_owner_and_name() -> None:
    """A dotted target names a module or class and its attribute."""
    assert locate("os.path.join") == (os.path, "join")


@pytest.mark.parametrize("target", ["nowhere.at.all", "os.nothing.here", "os"])
def test_locate_says_what_is_missing(target: str) -> None:
    """A target without an owner is a LookupError that names it."""
    with pytest.raises(LookupError, match=target.split(".", maxsplit=1)[0]):
        locate(target)
