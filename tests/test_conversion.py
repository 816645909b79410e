"""`import-conf`, `export-conf`, and a conf in the place of a route file, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFS = Path(__file__).parent / "data" / "confs"
METAX = CONFS / "backends_metax.conf"


@pytest.fixture
def files(tmp_path):
    """Return a folder with a conf, one that overrides it, and one that is wrong."""
    (tmp_path / "backends_musa.conf").write_text("mm = musa  # mudnn: \x01fast\nsort = cpu\n", encoding="utf-8")
    (tmp_path / "backends_musa_more.conf").write_text("include backends_musa.conf\nmm = cpu\n", encoding="utf-8")
    (tmp_path / "backends_sim.conf").write_text("mm = what\n", encoding="utf-8")
    (tmp_path / "mine.conf").write_text("mm = cpu\nnot.there = cpu\n", encoding="utf-8")
    return tmp_path


def test_import_prints_a_route_file(run_command, files, expect_rc):
    """The file holds what is shipped for the platform and the routes, readable, with the annotations."""
    text = expect_rc(run_command("import-conf", files / "backends_musa.conf"))

    assert "  musa:\n    probes:\n    - target: torch.cuda.is_available\n" in text
    assert text.endswith("    ops:\n      routes:\n        aten::mm: vendor  # mudnn:  fast\n        aten::sort: cpu\n")


def test_imported_file_is_valid(run_command, tmp_path, expect_rc):
    """What import-conf writes, validate accepts."""
    path = tmp_path / "new" / "routes.yaml"
    expect_rc(run_command("import-conf", METAX, "-o", path))

    assert expect_rc(run_command("validate", path)) == f"{path}: valid\n"


def test_import_then_export(run_command, files, tmp_path, expect_rc):
    """The conf that comes out serves what the one that went in does; later files win, platforms stay apart."""
    path = tmp_path / "routes.yaml"
    expect_rc(
        run_command("import-conf", files / "backends_musa.conf", files / "backends_musa_more.conf", METAX, "-o", path)
    )
    text = expect_rc(run_command("export-conf", path, "--platform", "musa"))
    other = expect_rc(run_command("export-conf", path, "--platform", "metax", "--vendor", "metax"))

    assert text.splitlines()[3:] == ["mm = none", "sort = none"]
    assert {line.split(" = ")[1] for line in other.splitlines()[3:]} == {"metax"}


def test_import_names_what_it_left_out(run_command, files, expect_rc):
    """An operator that torch does not have is a problem, and the rest is written all the same."""
    result = run_command("import-conf", files / "mine.conf", "--platform", "sim", "--json")
    document = json.loads(expect_rc(result, 1))

    assert document["routes"] == {"sim": {"aten::mm": "cpu"}}
    assert [item["code"] for item in document["diagnostics"]] == ["FR112"]
    assert "mine.conf:2:1: warning[FR112]" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["backends_sim.conf"], "error[FR113] no backend of a conf is called 'what'"),
        (["mine.conf"], "error[FR108] the name of the file names no platform"),
        (["mine.conf", "--platform", "simm"], "error[FR108] no platform is called 'simm'\n  hint: did you mean 'sim'?"),
        (["missing.conf", "--platform", "sim"], "error[FR100] the file cannot be read: no such file or directory"),
    ],
    ids=["backend", "no platform", "platform", "file"],
)
def test_wrong_import_writes_nothing(run_command, files, expect_rc, arguments, message):
    """Where anything is wrong there is no file."""
    name, *rest = arguments
    result = run_command("import-conf", files / name, *rest, "-o", files / "routes.yaml")
    expect_rc(result, 2)

    assert message in result.stderr
    assert not (files / "routes.yaml").exists()


def test_output_is_not_overwritten(run_command, files, expect_rc):
    """A file that is there stays, unless somebody insists."""
    path = files / "routes.yaml"
    path.write_text("mine", encoding="utf-8")
    expect_rc(run_command("import-conf", files / "backends_musa.conf", "-o", path), 2)
    kept = path.read_text(encoding="utf-8")
    expect_rc(run_command("import-conf", files / "backends_musa.conf", "-o", path, "--force"))

    assert kept == "mine"
    assert path.read_text(encoding="utf-8").startswith("# Imported")


def test_export_names_what_it_cannot_say(run_command, tmp_path, expect_rc):
    """A route that a conf has no form for is named with its line, and left out on request."""
    path = tmp_path / "routes.yaml"
    path.write_text(
        "version: 1\nplatforms:\n  sim:\n    ops:\n      routes:\n        aten::mm: cpu\n"
        "        aten::bmm: {use: [vendor, cpu]}\n",
        encoding="utf-8",
    )
    refused, lossy = run_command("export-conf", path), run_command("export-conf", path, "--lossy")

    assert expect_rc(refused, 2) == ""
    assert f"{path}:7:9: error[FR121] 'aten::bmm' has 2 backends" in refused.stderr
    assert expect_rc(lossy, 1).splitlines()[3:] == ["mm = none"]


def test_export_needs_a_platform(run_command, expect_rc):
    """Where several platforms could be meant, or none has routes, they are listed."""
    result = run_command("export-conf")
    expect_rc(result, 2)

    assert "pass --platform with 'ascend'" in result.stderr


@pytest.mark.parametrize("variable", ["FLAGOS_ROUTES", "FLAGOS_BACKEND_CONFIG"])
def test_conf_in_place_of_a_route_file(run_command, files, expect_rc, variable):
    """A conf can be named where a route file can; its findings point at its lines, and what is shipped stays."""
    env = {variable: str(files / "mine.conf"), "FLAGOS_PLATFORM": "sim", "XDG_CACHE_HOME": str(files / "cache")}
    document = json.loads(expect_rc(run_command("plan", "--json", env=env)))

    assert document["routes"] == str(files / "mine.conf")
    assert f"{files / 'mine.conf'}:2:1" in [item["where"] for item in document["diagnostics"]]
    assert any(item["id"].startswith("alias:cuda/") for item in document["steps"])


def test_kept_conf_follows_its_includes(run_command, files, expect_rc):
    """A conf whose included file has changed is read again."""
    env = {
        "FLAGOS_ROUTES": str(files / "backends_musa_more.conf"),
        "FLAGOS_PLATFORM": "sim",
        "XDG_CACHE_HOME": str(files / "cache"),
    }
    first = json.loads(expect_rc(run_command("plan", "--json", env=env)))
    with (files / "backends_musa.conf").open("a", encoding="utf-8") as file:
        file.write("not.there = cpu\n")
    second = json.loads(expect_rc(run_command("plan", "--json", env=env)))

    assert [item["code"] for item in first["diagnostics"]].count("FR112") == 0
    assert [item["code"] for item in second["diagnostics"]].count("FR112") == 1


def test_validate_takes_a_conf(run_command, files, expect_rc):
    """A conf is checked as a route file is."""
    expect_rc(run_command("validate", METAX))
    result = run_command("validate", files / "backends_sim.conf")
    expect_rc(result, 2)

    assert "backends_sim.conf:1:6: error[FR113]" in result.stderr
