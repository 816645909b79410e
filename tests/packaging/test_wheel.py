"""The wheel and the sdist hold everything, and work outside the tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
INSTALL = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--target")
SCHEMAS = tuple(path.name for path in sorted((ROOT / "schemas").glob("*.json")))


def run(*command: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Return what the command printed; a failure shows both streams."""
    result = subprocess.run(
        command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the sdist, and the wheel from the sdist, as a release would."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def site(request, dist, tmp_path_factory):
    """Install one of the two into a folder of its own; dependencies come from the environment of the tests."""
    folder = tmp_path_factory.mktemp(request.param)
    run(*INSTALL, str(folder), str(dist[request.param]), cwd=folder)
    return folder


def outside(site: Path) -> dict[str, str]:
    """Return an environment in which *site* comes before the editable install."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAGOS_")}
    return {**kept, "PYTHONPATH": str(site), "FLAGOS_RUNTIME": "off"}


def test_wheel_holds_code_platforms_and_data(dist):
    """The prefix `platforms/` is gone, the data lies in `_bundled`, and no tests are shipped."""
    names = set(zipfile.ZipFile(dist["wheel"]).namelist())

    assert {
        "flagos_runtime/__init__.py",
        "flagos_runtime/py.typed",
        "flagos_runtime/_bundled/routes.yaml",
        "flagos_platforms/__init__.py",
        *(f"flagos_runtime/_bundled/schemas/{name}" for name in SCHEMAS),
    } <= names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "flagos_runtime",
        "flagos_platforms",
    }


def test_sdist_holds_what_a_build_and_a_test_run_need(dist):
    """Someone with the sdist alone can build and test."""
    with tarfile.open(dist["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "routes.yaml", "constraints.txt", "Makefile", "tests/conftest.py", "LICENSE"} <= names


def test_package_imports_outside_the_tree(site):
    """Both packages come from the installed folder, not from the checkout."""
    code = "import flagos_runtime, flagos_platforms; print(flagos_runtime.__file__, flagos_platforms.__file__)"
    files = run(sys.executable, "-c", code, env=outside(site), cwd=site).split()

    assert [Path(name).parents[1] for name in files] == [site, site]


def test_bundled_routes_are_valid(site):
    """The installed command accepts the route file that it ships."""
    routes = site / "flagos_runtime" / "_bundled" / "routes.yaml"
    run(str(site / "bin" / "flagos-runtime"), "validate", str(routes), env=outside(site), cwd=site)


def test_entry_points_are_installed(site):
    """What torch looks for is there, and the group for other people's platforms is empty."""
    code = """
from importlib.metadata import distribution
print(*sorted(f"{e.group}:{e.name}" for e in distribution("flagos-runtime").entry_points))
"""
    assert run(sys.executable, "-c", code, env=outside(site), cwd=site).split() == [
        "console_scripts:flagos-runtime",
        "torch.backends:flagos_runtime",
    ]
