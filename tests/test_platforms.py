"""Conformance: what every platform of this tree must satisfy, and what each of them says."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import get_args

import pytest

import flagos_platforms
from flagos_runtime.detection import detect
from flagos_runtime.hookspecs import CAPABILITIES
from flagos_runtime.host import ReplayHost
from flagos_runtime.plugins import BUILTIN, load_plugins
from flagos_runtime.probes import run_probes
from flagos_runtime.records import PlatformKind

NAMES = [path.rpartition(".")[2] for path in BUILTIN]
MAY_IMPORT = {"__future__", "typing", "collections.abc", "flagos_runtime.hookspecs", "flagos_runtime.records"}
CUDA_HOST = {
    "paths": ["/dev/nvidia0", "/dev/nvidiactl"],
    "pci": [{"address": "0000:01:00.0", "vendor": "0x10de", "device": "0x2684", "class": "0x030000"}],
    "libraries": {"libcuda.so.1": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
    "modules": {"torch": "2.13.0"},
    "torch": {"version.cuda": "13.0"},
}


@pytest.fixture(params=BUILTIN, ids=NAMES)
def module(request):
    """Return each platform's module in turn."""
    return importlib.import_module(request.param)


@pytest.fixture
def platform(module):
    """Return the record of each platform in turn."""
    return module.flagos_platform()


def detected(host: ReplayHost, explicit: str | None = None):
    """Detect the platform of *host* among the built-in ones."""
    platforms = load_plugins(()).platforms
    found = {item.name: run_probes(item.probes, host) for item in platforms}
    return detect(platforms, found, explicit=explicit, chosen_by="argument")


# -- every platform -------------------------------------------------------------------------------------------------


def test_every_file_is_built_in():
    """A file that is not listed would never be loaded."""
    (folder,) = map(Path, flagos_platforms.__path__)

    assert sorted(NAMES) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def test_name_is_the_file_name(module, platform):
    """A platform is found where its name says."""
    assert module.__name__ == f"flagos_platforms.{platform.name}"


def test_imports_records_and_hooks_only(module):
    """A platform depends on the two modules that are for plugins, and on nothing of its vendor's."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}

    assert imported <= MAY_IMPORT


def test_title_and_kind(platform):
    """A platform has a title for people and one of the known kinds."""
    assert platform.title
    assert platform.kind in get_args(PlatformKind)


def test_kind_agrees_with_the_device_type(platform):
    """The kind says whose device it is: torch's cuda, ours, or the vendor's."""
    owner = {"cuda": "cuda", "flagos": "sim"}.get(platform.device_type, "private_use1")

    assert platform.kind.removesuffix("_shaped") == owner


def test_capabilities_are_known_and_complete(platform):
    """Each platform speaks about every capability of the matrix once, and about no other."""
    assert sorted(item.name for item in platform.capabilities) == sorted(CAPABILITIES)


def test_capabilities_are_declared_with_a_source(platform):
    """A plugin measures nothing, so it declares, and says where it read the fact."""
    assert {item.evidence for item in platform.capabilities} == {"declared"}
    assert all(item.source for item in platform.capabilities)


def test_unknown_capabilities_say_why(platform):
    """A fact that is not known comes with what it depends on."""
    assert all(item.detail for item in platform.capabilities if item.state == "unknown")


def test_probes_have_a_source_and_the_platforms_name(platform):
    """A probe says where its fact was read, and its override variable says whose it is."""
    assert all(item.source and item.subjects for item in platform.probes)
    assert all(item.name.startswith(f"{platform.name}_") for item in platform.probes)


def test_detectable_platform_can_be_told(platform):
    """A platform that takes part in detection has a probe for the hardware and one for what makes it usable."""
    if platform.detectable:
        assert any(item.presence for item in platform.probes)
        assert any(item.required for item in platform.probes)


def test_probe_names_are_unique():
    """Two probes of one name would share an override."""
    names = [item.name for platform in load_plugins(()).platforms for item in platform.probes]

    assert len(names) == len(set(names))


# -- each of them ---------------------------------------------------------------------------------------------------


def test_cuda_is_detected_on_its_host():
    """A card, its driver and a CUDA build of torch make the platform cuda."""
    assert detected(ReplayHost(CUDA_HOST)).platform.name == "cuda"


@pytest.mark.parametrize(
    ("section", "missing"),
    [("libraries", "libcuda.so.1 is not there"), ("torch", "torch was built without version.cuda")],
)
def test_cuda_card_alone_is_not_usable(section, missing):
    """A card without driver, or with a torch for the CPU, is present and not usable."""
    detection = detected(ReplayHost({**CUDA_HOST, section: {}}))
    reason = next(item.reason for item in detection.candidates if item.platform == "cuda")

    assert detection.platform is None
    assert reason == f"card found (/dev/nvidia0, pci 10de:2684), but {missing}"


def test_cuda_build_without_a_card_is_absent():
    """A CUDA build of torch on a host without a card detects nothing."""
    assert detected(ReplayHost({**CUDA_HOST, "paths": [], "pci": []})).platform is None


def test_cuda_is_found_by_overrides_alone():
    """A host without hardware can be made to look like one, for tests."""
    names = ("CUDA_PCI", "CUDA_DRIVER", "CUDA_TORCH_BUILD")
    environment = {f"FLAGOS_OVERRIDE_{name}": "1" for name in names}

    assert detected(ReplayHost({"environment": environment})).platform.name == "cuda"


@pytest.mark.parametrize("host", [{}, CUDA_HOST], ids=["bare", "cuda"])
def test_sim_is_chosen_by_name_only(host):
    """The embedded device needs no hardware and is never detected."""
    found = detected(ReplayHost(host)).platform

    assert found is None or found.name != "sim"
    assert detected(ReplayHost(host), explicit="sim").platform.name == "sim"


def test_sim_does_not_claim_what_is_not_tested():
    """What no test of this project covers is unknown, not available."""
    sim = next(item for item in load_plugins(()).platforms if item.name == "sim")
    unknown = {item.name for item in sim.capabilities if item.state == "unknown"}

    assert unknown == {"triton", "flaggems", "distributed", "profiler"}
