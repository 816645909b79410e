"""A vendor in a distribution of its own: built, installed, checked and shown like those of this tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "acme-flagos"
    version = "3.1"

    [project.entry-points."flagos_runtime.platforms"]
    acme = "acme_flagos"

    [tool.hatch.build.targets.wheel]
    include = ["acme_flagos.py"]
"""
PLUGIN = """
    from flagos_runtime.hookspecs import declared, hookimpl, unstated
    from flagos_runtime.records import Lack, Platform, ProbeSpec

    GUIDE = "Acme driver guide 3.1"


    @hookimpl
    def flagos_platform():
        return Platform(
            name="acme",
            title="Acme A1",
            kind="private_use1",
            device_type="acme",
            probes=(
                ProbeSpec("acme_device_nodes", "path", ("/dev/acme[0-9]*",), GUIDE, presence=True),
                ProbeSpec("acme_runtime", "library", ("libacme.so",), GUIDE, required=True),
                ProbeSpec("acme_torch_package", "module", ("torch_acme",), GUIDE, required=True),
            ),
            capabilities=declared(GUIDE, available=("eager",), unavailable={"fp64": "the chip has no unit for it"}),
            torch_package="torch_acme",
            visible_devices=("ACME_VISIBLE_DEVICES",),
            names_source=GUIDE,
            lacks=(
                Lack("pci", "it is part of a system on chip"),
                Lack("gems_vendor", "FlagGems has no vendor for it"),
                *unstated("torch_attribute", "dist_backend", "flagcx_device", "triton_target", "triton_backends"),
                *unstated("triton_extras", "container_devices", "command", "sdk_variables", "sdk_paths"),
            ),
        )
"""
CONFORMANCE = """
    from flagos_runtime.conformance import failures
    from flagos_runtime.plugins import load_plugins

    plugins = load_plugins()
    acme = next(item for item in plugins.platforms if item.name == "acme")
    print(plugins.provenance["acme"], failures(acme), plugins.diagnostics)
"""


def run(*command: str, env: dict[str, str], cwd: Path) -> str:
    """Return what the command printed; a failure shows both streams."""
    result = subprocess.run(
        command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Build the wheel, install it into a folder of its own, and return an environment that finds it."""
    source, dist, site = (tmp_path_factory.mktemp(name) for name in ("acme", "dist", "site"))
    (source / "pyproject.toml").write_text(dedent(PROJECT), encoding="utf-8")
    (source / "acme_flagos.py").write_text(dedent(PLUGIN), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLAGOS_", "GEMS_"))}
    build = ("build", "--no-isolation", "--wheel", "--outdir", str(dist), str(source))
    run(sys.executable, "-m", *build, env=kept, cwd=source)
    install = ("pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site))
    run(sys.executable, "-m", *install, str(next(dist.glob("*.whl"))), env=kept, cwd=source)
    path = os.pathsep.join(map(str, (site, ROOT, ROOT / "platforms")))
    return {**kept, "PYTHONPATH": path, "FLAGOS_RUNTIME": "off"}


def test_out_of_tree_platform_conforms(environment, tmp_path):
    """The checks of the runtime run against a platform of another distribution, and it passes them."""
    out = run(sys.executable, "-c", dedent(CONFORMANCE), env=environment, cwd=tmp_path)

    assert out.strip() == "acme-flagos 3.1 {} ()"


def test_out_of_tree_platform_is_in_the_matrix(environment, tmp_path):
    """The matrix shows it beside the built-in ones, with the distribution that describes it."""
    out = run(sys.executable, "-m", "flagos_runtime", "matrix", "--json", env=environment, cwd=tmp_path)
    row = next(item for item in json.loads(out)["platforms"] if item["name"] == "acme")

    assert (row["distribution"], row["cuda"], row["flagos"]) == ("acme-flagos 3.1", "acme", "acme")
    assert row["capabilities"]["eager"]["state"] == "available"
    assert row["capabilities"]["compile"]["state"] == "unknown"


def test_conformance_suite_runs_for_it(environment, tmp_path):
    """The tests of this tree take the platform in where its distribution is installed."""
    suite = str(ROOT / "tests" / "conformance")
    out = run(
        sys.executable, "-m", "pytest", "-q", "-k", "acme", "--rootdir", str(ROOT), suite, env=environment, cwd=ROOT
    )

    assert "passed" in out
    assert "failed" not in out
