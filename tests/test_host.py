"""Host views: the same questions to a tree of files and to a recorded snapshot."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from flagos_runtime.errors import FlagosError
from flagos_runtime.host import CACHE_MAGIC, LiveHost, PciDevice, ReplayHost, loader_cache_entries

X86_64 = 0x0303
I386 = 0x0003


def write(path: Path, text: str = "") -> Path:
    """Write *text* to *path* with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def add_pci_device(root: Path, address: str, vendor: str, device: str, class_: str) -> None:
    """Add one device to the sysfs below *root*."""
    folder = root / "sys/bus/pci/devices" / address
    for name, value in {"vendor": vendor, "device": device, "class": class_}.items():
        write(folder / name, f"{value}\n")


def loader_cache(*entries: tuple[int, str, str]) -> bytes:
    """Return the bytes of an ``ld.so.cache`` with (flags, soname, path) *entries*."""
    strings = b""
    rows = b""
    start = 48 + 24 * len(entries)
    for flags, name, path in entries:
        key = start + len(strings)
        strings += name.encode() + b"\0"
        rows += struct.pack("=iIIIQ", flags, key, start + len(strings), 0, 0)
        strings += path.encode() + b"\0"
    return CACHE_MAGIC + struct.pack("=II20x", len(entries), len(strings)) + rows + strings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return an empty root folder whose own name would be a pattern to glob."""
    folder = tmp_path / "host[0-9]"
    folder.mkdir()
    return folder


# -- files ----------------------------------------------------------------------------------------------------------


def test_glob_returns_absolute_paths_in_order(root):
    """Paths come back sorted and without the injected root."""
    for name in ("nvidia1", "nvidia0", "nvidiactl"):
        write(root / "dev" / name)

    assert LiveHost(root).glob("/dev/nvidia[0-9]*") == ("/dev/nvidia0", "/dev/nvidia1")


def test_glob_of_a_missing_folder_is_empty(root):
    """A folder that does not exist holds nothing; that is an answer."""
    assert LiveHost(root).glob("/dev/nvidia*") == ()


def test_glob_refuses_a_relative_pattern(root):
    """A relative pattern would depend on the working directory."""
    with pytest.raises(ValueError, match="'dev/x' is not an absolute pattern"):
        LiveHost(root).glob("dev/x")


def test_glob_of_an_unreadable_folder_raises(root, monkeypatch):
    """A folder without permission is not reported as empty."""
    write(root / "dev/nvidia0")
    monkeypatch.setattr("os.access", lambda path, mode: False)

    with pytest.raises(PermissionError, match="'/dev'"):
        LiveHost(root).glob("/dev/nvidia*")


# -- PCI ------------------------------------------------------------------------------------------------------------


def test_pci_devices_are_read_from_sysfs(root):
    """Each device comes with the ids that sysfs holds, in the order of addresses."""
    add_pci_device(root, "0000:02:00.0", "0x19e5", "0xd802", "0x120000")
    add_pci_device(root, "0000:01:00.0", "0x10de", "0x2684", "0x030000")

    assert LiveHost(root).pci_vendors() == (
        PciDevice("0000:01:00.0", "0x10de", "0x2684", "0x030000"),
        PciDevice("0000:02:00.0", "0x19e5", "0xd802", "0x120000"),
    )


def test_no_sysfs_cannot_be_asked(root):
    """Without ``/sys`` nothing is known of PCI devices."""
    with pytest.raises(FileNotFoundError):
        LiveHost(root).pci_vendors()


def test_a_sysfs_without_pci_has_no_devices(root):
    """A system on a chip has a sysfs and no PCI bus, which is an answer."""
    (root / "sys/bus").mkdir(parents=True)

    assert LiveHost(root).pci_vendors() == ()


def test_a_device_that_goes_away_is_left_out(root):
    """A device that is unplugged while it is read does not spoil the list."""
    add_pci_device(root, "0000:01:00.0", "0x10de", "0x2684", "0x030000")
    (root / "sys/bus/pci/devices/0000:03:00.0").mkdir()

    assert [item.address for item in LiveHost(root).pci_vendors()] == ["0000:01:00.0"]


# -- libraries ------------------------------------------------------------------------------------------------------


def test_library_by_absolute_path(root):
    """An absolute path is there or it is not; nothing is searched."""
    write(root / "opt/maca/lib/libmxsml.so")
    host = LiveHost(root, environment={})

    assert host.library("/opt/maca/lib/libmxsml.so") == "/opt/maca/lib/libmxsml.so"
    assert host.library("/opt/other/libmxsml.so") is None


@pytest.mark.parametrize("folder", ["/lib64", "/usr/lib", "/usr/local/lib"], ids=["lib64", "usr-lib", "usr-local-lib"])
def test_library_in_a_standard_folder(root, folder):
    """The loader's standard folders are searched."""
    write(root / folder.lstrip("/") / "libacme.so.1")

    assert LiveHost(root, environment={}).library("libacme.so.1") == f"{folder}/libacme.so.1"


def test_library_path_of_the_environment_goes_first(root):
    """LD_LIBRARY_PATH wins over the standard folders, as it does for the loader."""
    write(root / "usr/lib/libacme.so.1")
    write(root / "opt/acme/libacme.so.1")
    host = LiveHost(root, environment={"LD_LIBRARY_PATH": ":/nowhere:/opt/acme"})

    assert host.library("libacme.so.1") == "/opt/acme/libacme.so.1"


def test_library_of_the_loader_cache(root, monkeypatch):
    """A library in a folder that only the loader's cache names is found."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    write(root / "opt/acme/libacme.so.1")
    write(root / "etc/ld.so.cache").write_bytes(loader_cache((X86_64, "libacme.so.1", "/opt/acme/libacme.so.1")))

    assert LiveHost(root, environment={}).library("libacme.so.1") == "/opt/acme/libacme.so.1"


def test_stale_entry_of_the_loader_cache(root, monkeypatch):
    """A library that was deleted after the cache was written is not there."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    write(root / "etc/ld.so.cache").write_bytes(loader_cache((X86_64, "libacme.so.1", "/opt/acme/libacme.so.1")))

    assert LiveHost(root, environment={}).library("libacme.so.1") is None


def test_loader_cache_leaves_out_other_machines():
    """A 32-bit library is not taken for the missing 64-bit one."""
    data = loader_cache((I386, "libcuda.so.1", "/lib32/libcuda.so.1"), (X86_64, "libc.so.6", "/lib64/libc.so.6"))

    assert list(loader_cache_entries(data, "x86_64")) == [("libc.so.6", "/lib64/libc.so.6")]


def test_loader_cache_of_an_unknown_machine_takes_all():
    """On a machine whose flag is not known no entry is dropped."""
    data = loader_cache((0x1003, "libc.so.6", "/lib/libc.so.6"))

    assert list(loader_cache_entries(data, "riscv64")) == [("libc.so.6", "/lib/libc.so.6")]


def test_loader_cache_behind_the_old_format():
    """The new table is found where glibc puts it behind the old one."""
    data = b"ld.so-1.7.0" + b"\0" * 5 + loader_cache((X86_64, "libc.so.6", "/lib64/libc.so.6"))

    assert list(loader_cache_entries(data, "x86_64")) == [("libc.so.6", "/lib64/libc.so.6")]


def test_foreign_loader_cache_is_empty():
    """A file in another format names no library."""
    assert list(loader_cache_entries(b"something else", "x86_64")) == []


# -- modules --------------------------------------------------------------------------------------------------------


def test_module_gives_the_version_of_its_distribution(tmp_path):
    """The version is that of the distribution of the same name, '-' and '_' being one."""
    write(tmp_path / "flag_acme/__init__.py", "raise RuntimeError('imported')\n")
    write(tmp_path / "flag_acme-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: flag-acme\nVersion: 1.2\n")

    assert LiveHost(search_path=[str(tmp_path)]).module("flag_acme") == "1.2"


def test_module_without_a_distribution_has_no_version(tmp_path):
    """A module that belongs to no distribution is there, with an empty version."""
    write(tmp_path / "acme.py")

    assert LiveHost(search_path=[str(tmp_path)]).module("acme") == ""


def test_missing_module(tmp_path):
    """A module that cannot be imported is ``None``."""
    assert LiveHost(search_path=[str(tmp_path)]).module("acme") is None


def test_a_bare_folder_is_no_module(tmp_path):
    """A folder that happens to have the name is not taken for the package."""
    (tmp_path / "torch_npu").mkdir()

    assert LiveHost(search_path=[str(tmp_path)]).module("torch_npu") is None


def test_a_stand_in_is_no_module(monkeypatch):
    """A stand-in that somebody put into sys.modules does not count as installed."""
    monkeypatch.setitem(sys.modules, "torch_acme", type(sys)("torch_acme"))

    assert LiveHost().module("torch_acme") is None


def test_module_refuses_a_dotted_name():
    """Finding a submodule would import its parent."""
    with pytest.raises(ValueError, match=r"'torch\.cuda' is not a top-level module"):
        LiveHost().module("torch.cuda")


def test_module_is_not_imported(run_python, expect_rc):
    """Asking for a module of this environment loads nothing of it."""
    code = """
        import sys
        from flagos_runtime.host import LiveHost
        host = LiveHost()
        assert host.module("torch") and host.torch_fact("version.__version__")
        print(sorted({"torch", "numpy"} & set(sys.modules)))
    """

    assert expect_rc(run_python(code, env={"PYTHONPATH": ":".join(sys.path), "FLAGOS_RUNTIME": "off"})).strip() == "[]"


# -- torch ----------------------------------------------------------------------------------------------------------

VERSION_PY = """
from typing import Optional
__all__ = ['__version__', 'cuda', 'hip']
__version__ = '2.13.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
hip: Optional[str] = None
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version.cuda", "13.0"),
        ("version.hip", None),
        ("version.__version__", "2.13.0+cu130"),
        ("version.xpu", None),
        ("version.debug", None),
    ],
)
def test_torch_fact_is_read_from_the_text(tmp_path, name, value):
    """A fact is what ``torch/version.py`` says, without running it; None and absent are the same."""
    write(tmp_path / "torch/__init__.py", "raise RuntimeError('imported')\n")
    write(tmp_path / "torch/version.py", VERSION_PY)

    assert LiveHost(search_path=[str(tmp_path)]).torch_fact(name) == value


def test_torch_fact_without_torch_cannot_be_asked(tmp_path):
    """Without torch there is no build to ask about."""
    with pytest.raises(OSError, match="torch is not installed"):
        LiveHost(search_path=[str(tmp_path)]).torch_fact("version.cuda")


def test_torch_fact_refuses_another_name():
    """Only names of ``torch/version.py`` are facts."""
    with pytest.raises(ValueError, match=r"wanted 'version\.<name>'"):
        LiveHost().torch_fact("cuda.is_available")


# -- replay ---------------------------------------------------------------------------------------------------------

SNAPSHOT = {
    "environment": {"FLAGOS_PLATFORM": "cuda"},
    "paths": ["/dev/nvidia1", "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap1"],
    "pci": [{"address": "0000:01:00.0", "vendor": "0x10de", "device": "0x2684", "class": "0x030000"}],
    "libraries": {"libcuda.so.1": "/usr/lib/libcuda.so.1"},
    "modules": {"torch": "2.13.0"},
    "torch": {"version.cuda": "13.0", "version.hip": None},
}


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda host: host.environment["FLAGOS_PLATFORM"], "cuda"),
        (lambda host: host.glob("/dev/nvidia*"), ("/dev/nvidia0", "/dev/nvidia1")),
        (lambda host: host.glob("/dev/mtgpu*"), ()),
        (lambda host: host.pci_vendors(), (PciDevice("0000:01:00.0", "0x10de", "0x2684", "0x030000"),)),
        (lambda host: host.library("libcuda.so.1"), "/usr/lib/libcuda.so.1"),
        (lambda host: host.library("libmusart.so"), None),
        (lambda host: host.module("torch"), "2.13.0"),
        (lambda host: host.torch_fact("version.cuda"), "13.0"),
        (lambda host: host.torch_fact("version.hip"), None),
    ],
    ids=["environment", "glob", "glob-none", "pci", "library", "library-none", "module", "torch", "torch-none"],
)
def test_replay_answers_from_the_snapshot(ask, answer):
    """A recorded host gives the answers that were recorded."""
    assert ask(ReplayHost(SNAPSHOT)) == answer


@pytest.mark.parametrize(
    ("ask", "section"),
    [
        (lambda host: host.glob("/dev/nvidia*"), "paths"),
        (lambda host: host.pci_vendors(), "pci"),
        (lambda host: host.library("libcuda.so.1"), "libraries"),
        (lambda host: host.module("torch"), "modules"),
        (lambda host: host.torch_fact("version.cuda"), "torch"),
    ],
    ids=["paths", "pci", "libraries", "modules", "torch"],
)
def test_replay_cannot_answer_what_was_not_recorded(ask, section):
    """A section that the snapshot lacks is unknown, not empty, and the error is one of ours."""
    with pytest.raises(OSError, match=f"the snapshot does not record '{section}'") as caught:
        ask(ReplayHost({}))

    assert isinstance(caught.value, FlagosError)


def test_replay_without_an_environment_has_none():
    """A snapshot without an environment overrides nothing."""
    assert dict(ReplayHost({}).environment) == {}
