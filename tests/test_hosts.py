"""Hosts, whole and broken: which platform each has, and what is said of every other.

`cuda_h200` was recorded on a machine, all others are written by hand. Their nodes, libraries and PCI vendor ids are
those that the platforms' sources state; device ids, paths of libraries and versions are made up.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flagos_runtime.detection import detect
from flagos_runtime.host import ReplayHost
from flagos_runtime.plugins import load_plugins
from flagos_runtime.probes import run_probes
from flagos_runtime.snapshot_file import read_snapshot

FOLDER = Path(__file__).parent / "hosts"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
PLATFORMS = load_plugins(()).platforms
CUDA_HOST = json.loads((FOLDER / "cuda_h100.json").read_text(encoding="utf-8"))

EACH_HOST = pytest.mark.parametrize("host", EXPECTED)


def detected(data, explicit: str | None = None):
    """Detect the platform of a replayed host among the built-in ones."""
    host = ReplayHost(data)
    results = {item.name: run_probes(item.probes, host) for item in PLATFORMS}
    return detect(PLATFORMS, results, explicit=explicit)


def replayed(name: str):
    """Detect the platform of the host *name*."""
    return detected(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


# -- the table ------------------------------------------------------------------------------------------------------


def test_every_host_is_expected():
    """The table and the folder list the same hosts."""
    assert sorted(EXPECTED) == sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "expected")


def test_every_platform_has_a_host():
    """Each platform that can be detected is detected on one of the hosts."""
    names = {item.name for item in PLATFORMS if item.detectable}

    assert {item["platform"] for item in EXPECTED.values()} - {None} == names


@EACH_HOST
def test_host_is_a_snapshot(host):
    """Each host is a file that `flagos-runtime check --host` takes."""
    assert read_snapshot(FOLDER / f"{host}.json")["schema_version"] == 1


@EACH_HOST
def test_platform_of_a_host(host):
    """A host has the platform that the table says, or none."""
    found = replayed(host)

    assert (found.platform.name if found.platform else None) == EXPECTED[host]["platform"]


@EACH_HOST
def test_candidates_of_a_host(host):
    """Every platform that is there in part is listed with its state, and no other."""
    present = {item.platform: item.presence for item in replayed(host).candidates if item.presence != "absent"}
    expected = {name: state for name, (state, _) in EXPECTED[host]["candidates"].items() if state != "absent"}

    assert present == {"sim": "usable", **expected}


@EACH_HOST
def test_reasons_of_a_host(host):
    """Every candidate has a reason, and those of the table say what it says."""
    candidates = {item.platform: item for item in replayed(host).candidates}
    wrong = {
        name: candidates[name]
        for name, (state, words) in EXPECTED[host]["candidates"].items()
        if candidates[name].presence != state or words not in candidates[name].reason
    }

    assert all(item.reason for item in candidates.values())
    assert wrong == {}


# -- single facts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "missing"),
    [("libraries", "libcuda.so.1 is not there"), ("torch", "torch was built without version.cuda")],
)
def test_card_alone_is_not_usable(section, missing):
    """A card without driver, or with a torch for the CPU, is present and not usable."""
    found = detected({**CUDA_HOST, section: {}})
    reason = next(item.reason for item in found.candidates if item.platform == "cuda")

    assert found.platform is None
    assert reason == f"card found (/dev/nvidia0, pci 10de:2330), but {missing}"


def test_platform_is_found_by_overrides_alone():
    """A host without hardware can be made to look like one, for tests."""
    names = ("CUDA_PCI", "CUDA_DRIVER", "CUDA_TORCH_BUILD")
    environment = {f"FLAGOS_OVERRIDE_{name}": "1" for name in names}

    assert detected({"environment": environment}).platform.name == "cuda"


@pytest.mark.parametrize("data", [{}, CUDA_HOST], ids=["bare", "cuda"])
def test_sim_is_chosen_by_name_only(data):
    """The embedded device needs no hardware and is never detected."""
    found = detected(data).platform

    assert found is None or found.name != "sim"
    assert detected(data, explicit="sim").platform.name == "sim"


def test_sim_does_not_claim_what_others_bring():
    """What depends on other packages is unknown of the embedded device, not available."""
    sim = next(item for item in PLATFORMS if item.name == "sim")

    assert {"triton", "flaggems"} <= {item.name for item in sim.capabilities if item.state == "unknown"}
