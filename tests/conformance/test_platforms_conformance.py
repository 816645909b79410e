"""Conformance: what every platform must satisfy, in this tree and in other distributions."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import flagos_platforms
from flagos_runtime.conformance import CHECKS, PROBE_LACKS, failures
from flagos_runtime.names import NAMES
from flagos_runtime.plugins import BUILTIN, load_plugins
from flagos_runtime.records import Platform

PLUGINS = load_plugins()
VENDORS = tuple(item for item in PLUGINS.platforms if item.kind != "sim")
COMPLETE = tuple(item for item in VENDORS if not failures(item))
FILES = [path.rpartition(".")[2] for path in BUILTIN]
MAY_IMPORT = {"__future__", "typing", "collections.abc", "flagos_runtime.hookspecs", "flagos_runtime.records"}

EACH_PLATFORM = pytest.mark.parametrize("platform", PLUGINS.platforms, ids=lambda item: item.name)
EACH_COMPLETE_VENDOR = pytest.mark.parametrize("platform", COMPLETE, ids=lambda item: item.name)
EACH_FILE = pytest.mark.parametrize("path", BUILTIN, ids=FILES)


# -- every platform -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda item: item.__name__)
@EACH_PLATFORM
def test_platform_conforms(platform, check):
    """Each check holds for each platform of this process."""
    reason = check(platform)
    if reason is not None:
        pytest.fail(f"platform '{platform.name}': {reason}", pytrace=False)


@EACH_PLATFORM
def test_name_matches_where_it_was_found(platform):
    """A platform is found where its name says: in the file, or under the entry point, of that name."""
    assert PLUGINS.entries[platform.name].rpartition(".")[2] == platform.name


def test_every_plugin_loads():
    """No plugin of this process is refused."""
    assert PLUGINS.diagnostics == ()


@pytest.mark.parametrize("field", ["gems_vendor", "torch_package", "torch_attribute"])
def test_names_tell_platforms_apart(field):
    """Two platforms with one of these names could not be told apart by whoever goes by it."""
    names = [getattr(item, field) for item in PLUGINS.platforms if getattr(item, field) is not None]

    assert len(names) == len(set(names))


def test_presence_probes_share_no_subject():
    """No device node, PCI id or module speaks for two platforms."""
    subjects = [name for item in VENDORS for probe in item.probes if probe.presence for name in probe.subjects]

    assert len(subjects) == len(set(subjects))


# -- the files of this tree -----------------------------------------------------------------------------------------


def test_every_file_is_built_in():
    """A file that is not listed would never be loaded."""
    (folder,) = map(Path, flagos_platforms.__path__)

    assert sorted(FILES) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


@EACH_FILE
def test_imports_records_and_hooks_only(path):
    """A platform depends on the two modules that are for plugins, and on nothing of its vendor's."""
    tree = ast.parse(Path(importlib.import_module(path).__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}

    assert imported <= MAY_IMPORT


def test_loading_imports_no_torch(run_python, expect_rc):
    """All plugins together load without torch and without any vendor's package."""
    code = """
        import sys
        from flagos_runtime.plugins import load_plugins

        packages = {"torch", *(item.torch_package for item in load_plugins().platforms)}
        print(sorted(name for name in packages - {None} if name in sys.modules))
    """

    assert expect_rc(run_python(code, env={"FLAGOS_RUNTIME": "off"})).strip() == "[]"


# -- the checks themselves ------------------------------------------------------------------------------------------


def without_one_fact(platform: Platform) -> Iterator[tuple[str, Platform]]:
    """Yield *platform* once for each fact of it, without that fact."""
    for field in ("name", "title", "kind", "names_source", *NAMES):
        value = getattr(platform, field)
        empty = () if isinstance(value, tuple) else None if field in NAMES else ""
        if value:
            yield field, replace(platform, **{field: empty})
    for field in ("lacks", "capabilities"):
        yield from without_one_item(platform, field)
    for index, probe in enumerate(platform.probes):
        if probe.presence or probe.required:
            yield probe.name, without(platform, "probes", index)
        for field, empty in (("source", ""), ("subjects", ())):
            yield f"{probe.name}.{field}", put(platform, "probes", index, replace(probe, **{field: empty}))
    for index, item in enumerate(platform.capabilities):
        yield f"{item.name}.source", put(platform, "capabilities", index, replace(item, source=""))
        if item.state == "unknown":
            yield f"{item.name}.detail", put(platform, "capabilities", index, replace(item, detail=""))


def without_one_item(platform: Platform, field: str) -> Iterator[tuple[str, Platform]]:
    """Yield *platform* once for each item of *field*, without that item."""
    for index, item in enumerate(getattr(platform, field)):
        yield f"{field}.{item.name}", without(platform, field, index)


def without(platform: Platform, field: str, index: int) -> Platform:
    """Return *platform* without one item of *field*."""
    items = getattr(platform, field)
    return replace(platform, **{field: (*items[:index], *items[index + 1 :])})


def put(platform: Platform, field: str, index: int, item: object) -> Platform:
    """Return *platform* with another item in *field*."""
    items = getattr(platform, field)
    return replace(platform, **{field: (*items[:index], item, *items[index + 1 :])})


@EACH_COMPLETE_VENDOR
def test_a_missing_fact_fails_one_check(platform):
    """Whoever leaves out one fact is told of that one, and of nothing that follows from it."""
    wrong = {fact: failures(changed) for fact, changed in without_one_fact(platform)}

    assert {fact: found for fact, found in wrong.items() if len(found) != 1} == {}


def test_a_lack_that_is_none_is_found():
    """A name cannot be given and said to be missing, and a lack has a reason and a subject that exists."""
    platform = next(item for item in VENDORS if item.lacks and item.dist_backend)
    lack = platform.lacks[0]
    untrue = [lack._replace(name="dist_backend"), lack._replace(name="banana"), lack._replace(reason="")]
    found = [failures(replace(platform, lacks=(*platform.lacks, item))) for item in untrue]

    assert [sorted(item) for item in found] == [["lacks_are_true"]] * 3
    assert "banana" not in {*NAMES, *PROBE_LACKS}
