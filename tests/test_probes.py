"""Probes: what they answer, how they are overridden, and that a broken one stays alone."""

from __future__ import annotations

import pytest

from flagos_runtime.host import ReplayHost
from flagos_runtime.probes import override_name, run_probe, run_probes
from flagos_runtime.records import ProbeSpec

SOURCE = "this test"
DRIVER = ProbeSpec("acme_driver", "library", ("libacme.so.1",), SOURCE)


def host(**sections: object) -> ReplayHost:
    """Return a host with nothing but *sections*."""
    empty: dict[str, object] = {"paths": [], "pci": [], "libraries": {}, "modules": {}, "torch": {}}
    return ReplayHost({**empty, **sections})


def pci(vendor: str, device: str, class_: str, address: str = "0000:01:00.0") -> dict[str, str]:
    """Return a PCI device as a snapshot has it."""
    return {"address": address, "vendor": vendor, "device": device, "class": class_}


@pytest.mark.parametrize(
    ("kind", "subjects", "sections", "value", "reason"),
    [
        (
            "path",
            ("/dev/acme[0-9]*", "/dev/acmectl"),
            {"paths": ["/dev/acme0", "/dev/acme1"]},
            "/dev/acme0",
            "looked for /dev/acme[0-9]* or /dev/acmectl, found /dev/acme0 and 1 more",
        ),
        (
            "pci",
            ("0x10DE",),
            {"pci": [pci("0x10de", "0x2684", "0x030000")]},
            "10de:2684",
            "looked for 0x10DE, found pci 10de:2684 at 0000:01:00.0",
        ),
        (
            "library",
            ("libacme.so.2", "libacme.so.1"),
            {"libraries": {"libacme.so.1": "/usr/lib/libacme.so.1"}},
            "/usr/lib/libacme.so.1",
            "looked for libacme.so.2 or libacme.so.1, found /usr/lib/libacme.so.1",
        ),
        ("module", ("acme",), {"modules": {"acme": "1.2"}}, "1.2", "looked for acme, found acme 1.2"),
        ("module", ("acme",), {"modules": {"acme": ""}}, "", "looked for acme, found acme"),
        (
            "torch",
            ("version.cuda",),
            {"torch": {"version.cuda": "13.0"}},
            "13.0",
            "looked for version.cuda, found version.cuda 13.0",
        ),
    ],
    ids=["path", "pci", "library", "module", "module-without-version", "torch"],
)
def test_available(kind, subjects, sections, value, reason):
    """A probe is available when one of its subjects is found, and says which."""
    result = run_probe(ProbeSpec("acme", kind, subjects, SOURCE), host(**sections))

    assert (result.state, result.value, result.reason) == ("available", value, reason)


@pytest.mark.parametrize(
    ("kind", "subject", "reason"),
    [
        ("path", "/dev/acme*", "nothing matches /dev/acme*"),
        ("pci", "0x10de", "no accelerator of PCI vendor 0x10de is there"),
        ("library", "libacme.so.1", "libacme.so.1 is not there"),
        ("module", "acme", "the Python module acme is not installed"),
        ("torch", "version.cuda", "torch was built without version.cuda"),
    ],
)
def test_unavailable(kind, subject, reason):
    """A probe that looked and found nothing is unavailable, and says what it looked for."""
    result = run_probe(ProbeSpec("acme", kind, (subject,), SOURCE), host())

    assert (result.state, result.value, result.reason) == ("unavailable", "", reason)


@pytest.mark.parametrize(
    ("class_", "state"),
    [
        ("0x030000", "available"),
        ("0x0b4000", "available"),
        ("0x120000", "available"),
        ("0x020000", "unavailable"),
        ("0x010802", "unavailable"),
        ("0x060400", "unavailable"),
    ],
    ids=["display", "co-processor", "accelerator", "network", "nvme", "bridge"],
)
def test_pci_probe_looks_at_the_class(class_, state):
    """A vendor's network card or disk is no accelerator."""
    spec = ProbeSpec("ascend_pci", "pci", ("0x19e5",), SOURCE)

    assert run_probe(spec, host(pci=[pci("0x19e5", "0xd802", class_)])).state == state


def test_question_that_cannot_be_asked_is_unknown():
    """A host that cannot be asked gives no answer, which is not the answer no."""
    result = run_probe(DRIVER, ReplayHost({}))

    assert result.state == "unknown"
    assert result.reason == (
        "could not look for libacme.so.1: UnansweredError: the snapshot does not record 'libraries'"
    )


class HalfBlindHost(ReplayHost):
    """A host that may not look into one folder."""

    def glob(self, pattern):
        if pattern.startswith("/secret/"):
            raise PermissionError("no permission to read '/secret'")
        return super().glob(pattern)


@pytest.mark.parametrize(
    ("paths", "state"), [(["/dev/acme0"], "available"), ([], "unknown")], ids=["other-found", "nothing-found"]
)
def test_one_subject_that_cannot_be_asked(paths, state):
    """What is found elsewhere counts; where nothing is found, the refused question leaves the answer open."""
    spec = ProbeSpec("acme", "path", ("/secret/acme*", "/dev/acme*"), SOURCE)

    assert run_probe(spec, HalfBlindHost({"paths": paths})).state == state


# -- override -------------------------------------------------------------------------------------------------------


def test_override_makes_a_probe_available():
    """The environment answers in place of the host, and the result says so."""
    result = run_probe(DRIVER, host(environment={"FLAGOS_OVERRIDE_ACME_DRIVER": "/opt/libacme.so.1"}))

    assert (result.state, result.value, result.overridden) == ("available", "/opt/libacme.so.1", True)
    assert result.reason == "FLAGOS_OVERRIDE_ACME_DRIVER is '/opt/libacme.so.1'"


def test_empty_override_makes_a_probe_unavailable():
    """An empty value means absent, even where the thing is there."""
    found = host(environment={"FLAGOS_OVERRIDE_ACME_DRIVER": ""}, libraries={"libacme.so.1": "/usr/lib/libacme.so.1"})
    result = run_probe(DRIVER, found)

    assert (result.state, result.value, result.overridden) == ("unavailable", "", True)
    assert result.reason == "FLAGOS_OVERRIDE_ACME_DRIVER is empty, which means absent"


def test_override_answers_on_a_host_that_cannot_be_asked():
    """An override needs no host at all."""
    assert run_probe(DRIVER, ReplayHost({"environment": {override_name("acme_driver"): "1"}})).state == "available"


def test_result_without_override_says_so():
    """A result of the host is not marked as overridden."""
    assert run_probe(DRIVER, host()).overridden is False


# -- several --------------------------------------------------------------------------------------------------------


class BrokenHost(ReplayHost):
    """A host view with a defect."""

    def library(self, name):
        raise RuntimeError("broken view")


def test_a_raising_probe_does_not_stop_the_others():
    """A defect in one probe is that probe's unknown, with the cause, and the next one still answers."""
    module = ProbeSpec("acme_module", "module", ("acme",), SOURCE)

    broken, sound = run_probes((DRIVER, module), BrokenHost({"modules": {"acme": "1.2"}}))

    assert (broken.name, broken.state) == ("acme_driver", "unknown")
    assert broken.reason == "could not look for libacme.so.1: RuntimeError: broken view"
    assert (sound.name, sound.state) == ("acme_module", "available")


def test_every_result_is_timed():
    """A result says how long the probe took, also where it raised."""
    results = run_probes((DRIVER,), host()) + run_probes((DRIVER,), BrokenHost({}))

    assert all(result.elapsed_s > 0 for result in results)


@pytest.mark.parametrize(
    ("version", "state"), [("2.7.1+corex.4.4.0", "available"), ("2.11.0+cu130", "unavailable"), (None, "unavailable")]
)
def test_torch_fact_may_have_to_look_like_something(version, state):
    """A vendor's build of torch is told by what its version looks like."""
    spec = ProbeSpec("acme_torch_build", "torch", ("version.__version__=*+corex*",), "a test")
    result = run_probe(spec, ReplayHost({"torch": {"version.__version__": version}}))

    assert result.state == state
    assert "version.__version__" in result.reason
