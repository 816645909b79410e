"""A snapshot: everything that a platform may ask, the same answers on replay, and no secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flagos_runtime.autoloading import TorchAnswers
from flagos_runtime.config.variables import VARIABLES
from flagos_runtime.host import LiveHost, ReplayHost, UnansweredError
from flagos_runtime.masking import MASKED, masked
from flagos_runtime.plugins import BUILTIN, load_plugins
from flagos_runtime.probes import run_probe, run_probes
from flagos_runtime.records import Platform, ProbeSpec
from flagos_runtime.snapshot import Recorder, recorded_environment, take_snapshot

PLATFORMS = load_plugins(()).platforms
SILENT = TorchAnswers({"torch.cuda.is_available": None})
ACME = Platform(
    "acme",
    "Acme",
    "private_use1",
    "acme",
    probes=(
        ProbeSpec("acme_nodes", "path", ("/dev/acme[0-9]*", "/dev/acmectl"), "here", presence=True),
        ProbeSpec("acme_relative", "path", ("dev/acme",), "here"),
        ProbeSpec("acme_dotted", "module", ("acme.torch",), "here"),
    ),
    visible_devices=("ACME_VISIBLE_DEVICES",),
    sdk_variables=("ACME_HOME",),
)


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def subjects(kind):
    return sorted({item for known in PLATFORMS for spec in known.probes if spec.kind == kind for item in spec.subjects})


def crowded_root(root: Path) -> LiveHost:
    """A machine with the cards and the software of every platform at once."""
    for pattern in subjects("path"):
        write(root / pattern.replace("[0-9]", "0").replace("*", "").lstrip("/"))
    for index, vendor in enumerate(subjects("pci")):
        folder = root / f"sys/bus/pci/devices/0000:{index:02x}:00.0"
        for name, value in {"vendor": vendor, "device": "0x0001", "class": "0x120000"}.items():
            write(folder / name, f"{value}\n")
    for name in subjects("library"):
        write(root / (name.lstrip("/") if name.startswith("/") else f"usr/lib/{name}"))
    for name in subjects("module"):
        write(root / f"site/{name}.py")
    write(root / "site/torch/__init__.py")
    write(root / "site/torch/version.py", "__version__ = '2.11.0+corex.4'\ncuda = '12.8'\nhip: str = '6.2'\n")
    return LiveHost(root, environment={"FLAGOS_OVERRIDE_CUDA_PCI": "10de:2330"}, search_path=[str(root / "site")])


HOSTS = {
    "this machine": lambda root: LiveHost(),
    "every card": crowded_root,
    "no sysfs": lambda root: LiveHost(root, environment={}, search_path=[]),
}


def replayed(host, platforms=PLATFORMS) -> ReplayHost:
    """Take a snapshot, write it as JSON, and read it back."""
    return ReplayHost(json.loads(json.dumps(take_snapshot(host, platforms, SILENT))))


def timeless(result):
    return replace(result, elapsed_s=0.0)


# -- the same answers -------------------------------------------------------------------------------------------


def test_every_built_in_platform_is_covered():
    """The table below is about all of them."""
    assert len(PLATFORMS) == len(BUILTIN)


@pytest.mark.parametrize("make", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda item: item.name)
def test_every_probe_answers_the_same_on_replay(platform, make, tmp_path):
    """State, value and reason of each probe are those of the live host, refusals included."""
    live = make(tmp_path)
    replay = replayed(live)

    assert list(map(timeless, run_probes(platform.probes, replay))) == list(
        map(timeless, run_probes(platform.probes, live))
    )


@pytest.mark.parametrize("make", HOSTS.values(), ids=HOSTS)
def test_every_subject_is_recorded(make, tmp_path):
    """Even a subject that a probe passes over on this host is there, since it may decide after an edit."""
    live = make(tmp_path)
    replay = replayed(live)

    for spec in (spec for platform in PLATFORMS for spec in platform.probes):
        for subject in spec.subjects:
            alone = replace(spec, subjects=(subject,))
            assert timeless(run_probe(alone, replay)) == timeless(run_probe(alone, live))


def test_a_probe_that_is_wrong_itself_stays_wrong_in_the_same_words(tmp_path):
    """A mistake in a plugin is recorded like any other refusal."""
    live = LiveHost(tmp_path, environment={}, search_path=[])

    assert list(map(timeless, run_probes(ACME.probes, replayed(live, [ACME])))) == list(
        map(timeless, run_probes(ACME.probes, live))
    )


def test_what_was_not_asked_is_unknown(tmp_path):
    """A platform that came later asks what no snapshot has; the answer is not 'absent'."""
    replay = replayed(LiveHost(tmp_path, environment={}, search_path=[]))

    for ask in (
        lambda: replay.glob("/dev/acme*"),
        lambda: replay.library("libacme.so"),
        lambda: replay.module("acme"),
        lambda: replay.torch_fact("version.acme"),
    ):
        with pytest.raises(UnansweredError, match=r"the snapshot does not record '.*acme"):
            ask()


def test_a_recorder_is_a_host_view(tmp_path):
    """The recorder passes answers on as they are."""
    write(tmp_path / "dev/acme0")
    recorder = Recorder(LiveHost(tmp_path, environment={"A": "b"}))

    assert recorder.glob("/dev/acme*") == ("/dev/acme0",)
    assert recorder.environment == {"A": "b"}
    assert recorder.found == {("path", "/dev/acme*"): ("/dev/acme0",)}


def test_a_library_has_the_version_of_its_file(tmp_path, monkeypatch):
    """The loader's name leads to a file whose name tells the version."""
    write(tmp_path / "libcuda.so.570.86.15")
    (tmp_path / "libcuda.so.1").symlink_to("libcuda.so.570.86.15")
    host = LiveHost(environment={"LD_LIBRARY_PATH": str(tmp_path)})

    assert take_snapshot(host, PLATFORMS, SILENT).get("library_versions") == {"libcuda.so.1": "570.86.15"}


# -- environment ------------------------------------------------------------------------------------------------


def test_only_listed_variables_are_recorded():
    """Ours, those of the platforms and a few of the system are there; nobody else's are."""
    kept = ["ACME_HOME", "ACME_VISIBLE_DEVICES", "CUDA_HOME", "FLAGOS_OVERRIDE_X", "LD_LIBRARY_PATH"]

    assert list(recorded_environment(dict.fromkeys(["PATH", *kept, "HOME"], "x"), [ACME])) == kept


def test_every_variable_that_is_read_is_recorded():
    """A replay sees each switch that the recorded process saw."""
    names = {item.name for item in VARIABLES if not item.is_prefix}

    assert set(recorded_environment(dict.fromkeys(names, "1"), [])) == names


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLAGOS_HUB_TOKEN", "x"),
        ("FLAGOS_api_key", "x"),
        ("FLAGOS_ROUTES", "https://me:secret@example.org/routes.yaml"),
        ("FLAGOS_ROUTES", "https://ghp@example.org/routes.yaml"),
        ("FLAGOS_LOG", "hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9"),
        ("FLAGOS_LOG", "d2719f0a4be7c3a80b6615e4f7c1a9e3"),
        ("FLAGOS_LOG", "3f0c1b7a-9e11-4c1b-8d15-0a7e3f2b6c44"),
    ],
    ids=["token", "key", "password in a url", "user in a url", "token by its look", "hash", "uuid"],
)
def test_secrets_are_masked(name, value):
    """What looks like a secret, by its name or by itself, stays on the machine."""
    assert masked(name, value) == MASKED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLAGOS_PLATFORM", "sim"),
        ("FLAGOS_ROUTES", "/home/someone/projects/accelerator2/routes-of-2026.yaml"),
        ("FLAGOS_ROUTES", "https://example.org/routes@2.yaml"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda-12.8/targets/x86_64-linux/lib:/opt/maca/lib"),
        ("CUDA_VISIBLE_DEVICES", "GPU-3f0c1b7a-9e11-4c1b-8d15-0a7e3f2b6c44"),
        ("FLAGOS_TOKEN", ""),
    ],
    ids=["word", "path", "url", "library path", "device", "empty"],
)
def test_plain_values_are_kept(name, value):
    """Paths, words and the names of devices are what a reader needs."""
    assert masked(name, value) == value
