"""Activation beside a vendor's own torch plugin, with stand-ins that behave at import as the real ones do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vendors.standins import build

VENDORS = {
    "musa": ("torch_musa", "musa", "mthreads"),
    "ascend": ("torch_npu", "npu", "ascend"),
    "gcu": ("torch_gcu", "gcu", "enflame"),
    "cambricon": ("torch_mlu", "mlu", "cambricon"),
}
SLOW = [pytest.param(vendor, marks=pytest.mark.slow) for vendor in VENDORS if vendor != "musa"]
EACH = pytest.mark.parametrize("vendor", ["musa", *SLOW])

TABLE = """
    import json, os
    import torch
    import flagos_runtime

    def reproducer(device):
        compiled = torch.compile(torch.nn.Linear(10, 10).to(device), fullgraph=True)
        return list(compiled(torch.randn(1, 10, device=device)).shape)

    own = torch.get_device_module("DEVICE")
    same = [getattr(torch.cuda, name) is getattr(own, name)
            for name in ("current_device", "synchronize", "device_count", "get_device_properties")]
    print(json.dumps({
        "aliases": [flagos_runtime.alias_active(name) for name in ("cuda", "flagos")],
        "same": same,
        "device is stock": torch.device is torch._C.device,
        "devices": [str(torch.device(name)) for name in ("cuda", "flagos:0")],
        "current_device": torch.cuda.current_device(),
        "tensors": [str(t.device) for t in (
            torch.randn(2, 2, device="cuda"), torch.zeros(2).cuda(), torch.ones(2, device="flagos"),
            torch.ones(2).to("flagos"), torch.nn.Linear(1, 1).to("flagos").bias)],
        "compile": reproducer("cuda"),
        "is_available": torch.cuda.is_available(),
        "module": torch.flagos is own,
        "vendor": os.environ.get("GEMS_VENDOR"),
    }))
"""


@pytest.fixture
def plugin(tmp_path):
    """Return a function that makes a vendor's stand-in and gives the environment that finds it."""

    def make(vendor, **more):
        package, device, _ = VENDORS[vendor]
        folder = tmp_path / "site"
        folder.mkdir()
        return {"PYTHONPATH": build(folder, package, device, **more), "FLAGOS_PLATFORM": vendor}

    return make


@EACH
def test_cuda_and_flagos_mean_the_vendors_device(run_python, expect_rc, plugin, vendor) -> None:
    """The table of the defect holds with the vendor's device in place of flagos, and FlagGems is told the vendor."""
    _, device, gems_vendor = VENDORS[vendor]
    found = json.loads(expect_rc(run_python(TABLE.replace("DEVICE", device), env=plugin(vendor))).splitlines()[-1])

    assert found == {
        "aliases": [True, True],
        "same": [True] * 4,
        "device is stock": False,
        "devices": [device, f"{device}:0"],
        "current_device": 0,
        "tensors": [f"{device}:0"] * 5,
        "compile": [1, 10],
        "is_available": True,
        "module": True,
        "vendor": gems_vendor,
    }


@EACH
def test_deactivation_leaves_the_vendors_torch(run_python, expect_rc, plugin, vendor) -> None:
    """After deactivation every name is what the vendor's plugin left, and its device still works."""
    package, device, _ = VENDORS[vendor]
    code = f"""
        import os; os.environ["FLAGOS_RUNTIME"] = "off"
        import torch, {package}
        def names():
            owners = (torch, torch.cuda, torch.Tensor, torch.nn.Module, torch.UntypedStorage, torch.amp)
            return {{(o.__name__, k): v for o in owners for k, v in vars(o).items()}}
        import flagos_runtime
        before = names()
        os.environ["FLAGOS_RUNTIME"] = "on"
        flagos_runtime.activate(); flagos_runtime.deactivate()
        after = names()
        print([k for k in before.keys() | after.keys() if before.get(k, "absent") is not after.get(k, "absent")])
        print(os.environ.get("GEMS_VENDOR"), torch.zeros(1, device="{device}").device)
    """

    assert expect_rc(run_python(code, env=plugin(vendor))).splitlines() == ["[]", f"None {device}:0"]


@pytest.mark.parametrize("autoload", ["0", "1"])
@pytest.mark.parametrize("first", ["import torch; import flagos_runtime", "import flagos_runtime"])
def test_order_of_imports_does_not_matter(run_python, expect_rc, plugin, autoload, first) -> None:
    """Whoever is imported first, and with torch's autoload on or off, the vendor's plugin is loaded and used."""
    code = f"{first}\nimport torch\nprint(torch.zeros(1, device='cuda').device)"
    env = {**plugin("musa"), "TORCH_DEVICE_BACKEND_AUTOLOAD": autoload}

    assert expect_rc(run_python(code, env=env)).strip() == "musa:0"


def test_plugin_without_its_library_is_named(run_python, expect_rc, plugin) -> None:
    """A vendor's plugin that cannot be imported is an error that names it and its cause, and leaves stock torch."""
    env = plugin("musa", broken="raise OSError('libmusart.so.5: cannot open shared object file')")
    code = """
        import torch
        try:
            import flagos_runtime
        except Exception as exc:
            print(type(exc).__name__, "torch_musa" in str(exc), "libmusart.so.5" in str(exc))
        print(torch.device is torch._C.device, torch._C._get_privateuse1_backend_name())
    """
    out = expect_rc(run_python(code, env={**env, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))

    assert out.splitlines() == ["ActivationError True True", "True privateuseone"]


def test_detected_vendor_needs_no_name(run_python, expect_rc, plugin) -> None:
    """Where the card and its library are found, the platform is chosen without anybody naming it."""
    env = plugin("musa")
    del env["FLAGOS_PLATFORM"]
    found = {"FLAGOS_OVERRIDE_MUSA_DEVICE_NODES": "/dev/mtgpu.0", "FLAGOS_OVERRIDE_MUSA_RUNTIME": "libmusart.so"}
    code = "import torch, flagos_runtime; print(flagos_runtime.status().platform, torch.device('cuda'))"

    assert expect_rc(run_python(code, env={**env, **found})).strip() == "musa musa"


SHAPED = """
    import json, os
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch
    torch.cuda.is_available = lambda: True   # as a torch build that presents its device as CUDA answers
    names = lambda: {**vars(torch.cuda), "device": torch.device, "to": torch.Tensor.to, "zeros": torch.zeros}
    before = names()
    import flagos_runtime
    changed = [k for k, v in names().items() if before.get(k) is not v]
    flagos = [str(torch.device("flagos:1")), torch.flagos is torch.cuda] if hasattr(torch, "flagos") else []
    print(json.dumps([flagos_runtime.status().state, sorted(changed), flagos, os.environ.get("GEMS_VENDOR"),
                      torch._C._get_privateuse1_backend_name()]))
"""


@pytest.mark.parametrize(
    "vendor",
    ["metax", "ppu", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dcu", "kunlunxin", "iluvatar"))],
)
def test_cuda_shaped_vendor_is_left_alone(run_python, expect_rc, vendor) -> None:
    """On a torch that presents the device as CUDA nothing is aliased; only FlagGems is told the vendor."""
    state, changed, flagos, gems_vendor, owner = json.loads(
        expect_rc(run_python(SHAPED, env={"FLAGOS_PLATFORM": vendor}))
    )

    assert (state, changed, flagos, owner) == ("active", [], [], "privateuseone")
    assert gems_vendor == {"dcu": "hygon", "ppu": "thead"}.get(vendor, vendor)


def test_flagos_means_cuda_when_asked_for(run_python, expect_rc, tmp_path) -> None:
    """With the alias enabled in the route file `flagos` is cuda, and PrivateUse1 stays without a name."""
    routes = tmp_path / "routes.yaml"
    alias = "aliases: [{name: flagos, to: device, enabled: true}]"
    routes.write_text(f"version: 1\nplatforms:\n  metax:\n    {alias}\n")
    env = {"FLAGOS_PLATFORM": "metax", "FLAGOS_ROUTES": str(routes)}
    state, changed, flagos, _, owner = json.loads(expect_rc(run_python(SHAPED, env=env)))

    assert (state, flagos, owner) == ("active", ["cuda:1", True], "privateuseone")
    assert changed == ["device", "to", "zeros"]


def test_platform_without_a_torch_device_is_named(run_python, expect_rc) -> None:
    """A platform that torch has no device for is described and never activated."""
    code = "import flagos_runtime; s = flagos_runtime.status(); print(s.state, s.platform, s.reason)"

    out = expect_rc(run_python(code, env={"FLAGOS_PLATFORM": "bpu"}))

    assert out.startswith("inactive")
    assert "platform 'bpu' has no device in torch" in out


def test_stand_ins_are_for_tests_alone() -> None:
    """The installed package holds no stand-in."""
    assert not list((Path(__file__).resolve().parents[2] / "flagos_runtime").rglob("*standin*"))
