"""The file of a snapshot: its schema, and what a bad one says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from flagos_runtime.autoloading import TorchAnswers
from flagos_runtime.errors import ConfigError
from flagos_runtime.host import LiveHost
from flagos_runtime.plugins import load_plugins
from flagos_runtime.snapshot import take_snapshot
from flagos_runtime.snapshot_file import SNAPSHOT_VERSION, read_snapshot, snapshot_schema

SCHEMA_FILE = Path(__file__).parents[1] / "schemas" / "snapshot.schema.json"


@pytest.fixture
def document(tmp_path):
    """A snapshot as it comes out of a file."""
    device = tmp_path / "root/sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    for name in ("vendor", "device", "class"):
        (device / name).write_text("0x10de\n")
    host = LiveHost(tmp_path / "root", environment={"FLAGOS_PLATFORM": "cuda"}, search_path=[])
    return json.loads(json.dumps(take_snapshot(host, load_plugins(()).platforms, TorchAnswers({"torch.x": None}))))


def test_schema_file_is_in_sync():
    """The schema on disk is the one that the code generates; if not, run make schema."""
    expected = json.dumps(snapshot_schema(), indent=2, sort_keys=True) + "\n"

    assert expected == SCHEMA_FILE.read_text(encoding="utf-8"), "run make schema"


def test_schema_is_a_schema():
    """The schema itself is valid against the dialect that it names."""
    jsonschema.Draft202012Validator.check_schema(snapshot_schema())


def test_a_snapshot_is_valid_and_is_read_back(document, tmp_path):
    """What is taken fits the schema, and comes back from its file unchanged."""
    path = tmp_path / "host.json"
    path.write_text(json.dumps(document))

    jsonschema.validate(document, snapshot_schema())
    assert read_snapshot(path) == document


def test_optional_sections_may_be_missing(document, tmp_path):
    """A snapshot that was written by hand needs no list of questions."""
    path = tmp_path / "host.json"
    for name in ("asked", "unanswered", "library_versions", "torch_failure"):
        del document[name]
    path.write_text(json.dumps(document))

    jsonschema.validate(document, snapshot_schema())
    assert read_snapshot(path) == document


def changed(**sections):
    return lambda document: {**document, **sections}


BAD = {
    "section missing": (lambda found: {k: v for k, v in found.items() if k != "pci"}, "'pci' is missing"),
    "section unknown": (changed(colour="red"), "'colour' is unknown"),
    "wrong type": (changed(paths={}), "'paths' is of type object, wanted array"),
    "wrong item": (changed(paths=["/dev/null", 3]), "'paths.1' is of type integer, wanted string"),
    "wrong value": (
        changed(libraries={"libcuda.so.1": 1}),
        "'libraries.libcuda.so.1' is of type integer, wanted string",
    ),
    "key missing": (changed(pci=[{"address": "0", "vendor": "1", "device": "2"}]), "'pci.0.class' is missing"),
    "wrong word": (changed(answers={"torch.cuda.is_available": "no"}), "is of type string, wanted boolean"),
    "true for one": (changed(schema_version=True), "'schema_version' is True, wanted 1"),
    "list": (lambda found: [found], "the document is of type array, wanted object"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_bad_snapshot_is_told_by_its_place(change, message, document, tmp_path):
    """Each mistake is named with its place, and whatever the schema refuses is refused."""
    path = tmp_path / "host.json"
    path.write_text(json.dumps(change(document)))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(change(document), snapshot_schema())
    with pytest.raises(ConfigError) as caught:
        read_snapshot(path)
    assert [item.code for item in caught.value.diagnostics] == ["FR117"]
    assert message in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{,", "host.json:1:2: error[FR117] is no JSON: "),
        (b"\xff\xfe", "is no UTF-8 text: invalid start byte at byte 0"),
        (b"[" * 100_000, "is no snapshot: nested too deep"),
        (b'{"schema_version": 2}', f"schema_version is 2, wanted {SNAPSHOT_VERSION}"),
        (None, "cannot be read: no such file or directory"),
    ],
    ids=["no json", "no text", "too deep", "newer", "no file"],
)
def test_what_is_no_snapshot_says_so(content, message, tmp_path):
    """Whatever the file holds, the answer is one diagnostic that names it."""
    path = tmp_path / "host.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        read_snapshot(path)
    assert message in str(caught.value)


def test_every_mistake_is_reported(document, tmp_path):
    """All that is wrong is said at once."""
    path = tmp_path / "host.json"
    path.write_text(json.dumps({**document, "paths": 1, "modules": 2}))

    with pytest.raises(ConfigError) as caught:
        read_snapshot(path)
    assert len(caught.value.diagnostics) == 2
