"""From a path to records: the search, inheritance, and what each record carries."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from flagos_runtime.config.loader import bundled_routes, find_routes, load_routes
from flagos_runtime.config.patterns import pattern_problem
from flagos_runtime.errors import ConfigError
from flagos_runtime.plan import AliasRoute, Condition, OpExclusion, OpRoute, PatchRoute, ProbeRoute, RouteEvidence
from flagos_runtime.plugins import load_plugins
from flagos_runtime.records import Capability

DESIGN = """\
version: 1
platform: auto
autoload: accelerator
profile: full
platforms:
  private_use:
    ops: {prefer: [vendor, cpu]}
  musa:
    extends: private_use
    probes:
      - target: torch.cuda.is_available
        redirect: device.is_available
    aliases:
      - name: cuda
        to: device
        when: {original_false: [torch.cuda.is_available], switch_on: FLAGOS_ALIAS_CUDA}
        exclude: ["torch.cuda.memory_stats"]
    ops:
      prefer: [flaggems, vendor, cpu]
      exclude: [aten::add.Tensor]
      routes:
        aten::mm: vendor
        aten::sort.*: cpu
        aten::cumsum: {use: [flaggems, vendor], guard: {min_numel: 65536, dtypes: [float16]}, on_failure: next,
                       evidence: {verdict: STRICT, speedup: 2.4, device: "MTT S5000", date: 2026-12-01}}
    patches:
      - {id: flaggems.philox, enabled: true}
    capabilities:
      fp64: {state: unavailable, source: "vendor manual"}
"""

INHERITED = """\
version: 1
platforms:
  musa:
    extends: middle
    probes:
      - {target: torch.cuda.is_available, redirect: device.is_here}
    ops:
      routes: {aten::mm.default: cpu, aten::add.Tensor: vendor}
      exclude: [aten::var.correction, aten::cumsum]
    capabilities: {fp64: {state: available, source: child}}
  middle:
    extends: base
    aliases:
      - {name: cuda, to: device, enabled: false}
    patches:
      - {id: flaggems.philox, enabled: false}
  base:
    probes:
      - {target: torch.cuda.is_available, redirect: device.is_available}
      - {target: torch.cuda.device_count, redirect: device.device_count}
    aliases:
      - {name: flagos, to: device}
      - {name: cuda, to: device}
    ops:
      prefer: [cpu]
      routes: {aten::mm: vendor, aten::sort.*: cpu}
      exclude: [aten::cumsum.default, aten::add.Scalar]
    patches:
      - {id: flaggems.philox}
    capabilities: {fp64: {state: unknown, source: base}, bf16: {state: available, source: base}}
"""


@pytest.fixture
def musa(load):
    """Return the routes of the example in the design."""
    return load(DESIGN).of("musa")


# -- records --------------------------------------------------------------------------------------------------------


def test_probe_route(musa, tmp_path):
    """A probe has its target, what answers instead, and its place."""
    place = f"{tmp_path}/routes.yaml:11:9"

    assert musa.probes == (ProbeRoute("torch.cuda.is_available", "device.is_available", place),)


def test_alias_route(musa, tmp_path):
    """An alias has its condition and its exclusions."""
    assert musa.aliases == (
        AliasRoute(
            "cuda",
            "device",
            f"{tmp_path}/routes.yaml:14:9",
            when=Condition(("torch.cuda.is_available",), "FLAGOS_ALIAS_CUDA"),
            exclude=("torch.cuda.memory_stats",),
        ),
    )


def test_op_routes(musa, tmp_path):
    """A backend's name is short for a list of one; a guard holds what is set only."""
    file = f"{tmp_path}/routes.yaml"
    guard = {"min_numel": 65536, "dtypes": ("float16",)}
    evidence = RouteEvidence("STRICT", 2.4, "MTT S5000", "2026-12-01")

    assert musa.ops == (
        OpRoute("aten::mm", ("vendor",), f"{file}:22:9"),
        OpRoute("aten::sort.*", ("cpu",), f"{file}:23:9"),
        OpRoute("aten::cumsum", ("flaggems", "vendor"), f"{file}:24:9", "next", guard, evidence),
    )
    assert (musa.ops_prefer, musa.ops_prefer_where) == (("flaggems", "vendor", "cpu"), f"{file}:19:15")
    assert musa.ops_exclude == (OpExclusion("aten::add.Tensor", f"{file}:20:17"),)


def test_patches_and_capabilities(musa, tmp_path):
    """A patch has its place; a capability is declared, with its source."""
    assert musa.patches == (PatchRoute("flaggems.philox", True, f"{tmp_path}/routes.yaml:27:9"),)
    assert musa.capabilities == (Capability("fp64", "unavailable", "declared", source="vendor manual"),)


def test_top_level(load, tmp_path):
    """The set knows its file; entries that exist to be extended are left out."""
    routes = load(DESIGN)

    assert (routes.source, routes.platform, routes.autoload, routes.profile) == (
        f"{tmp_path}/routes.yaml",
        "auto",
        "accelerator",
        "full",
    )
    assert set(routes.platforms) == {"musa"}
    assert routes.diagnostics == ()


def test_defaults_of_a_short_file(load):
    """A version is all that a file needs."""
    routes = load("version: 1\n")

    assert (routes.platform, routes.autoload, routes.profile) == ("auto", "accelerator", "full")
    assert routes.of("musa").ops_prefer == ("vendor", "cpu")


def test_result_is_immutable(load):
    """Neither the set nor its mappings can be changed."""
    routes = load(DESIGN)

    with pytest.raises(FrozenInstanceError):
        routes.platform = "sim"
    with pytest.raises(TypeError):
        routes.platforms["sim"] = routes.of("sim")
    with pytest.raises(TypeError):
        routes.of("musa").ops[2].guard["min_numel"] = 1


def test_shipped_file_is_valid(known):
    """The file that users copy loads without a finding."""
    platforms = frozenset(item.name for item in load_plugins(()).platforms)
    routes = load_routes(bundled_routes(), replace(known, platforms=platforms))

    assert routes.diagnostics == ()
    assert platforms <= {"bpu", *routes.platforms}
    assert routes.of("sim").aliases[0].when.switch_on == "FLAGOS_ALIAS_CUDA"
    assert [alias.enabled for alias in routes.of("cuda").aliases] == [False]
    assert routes.of("metax").aliases[0].enabled is False
    assert [(alias.name, alias.enabled) for alias in routes.of("ascend").aliases] == [("cuda", True), ("flagos", True)]


def test_without_torch_names_are_unchecked_and_it_says_so(load, known):
    """Unknown overloads pass where no torch is installed; the form is checked all the same."""
    without = replace(known, overloads=None)
    routes = load("version: 1\nplatforms: {sim: {ops: {routes: {aten::new.op: cpu}}}}\n", without)

    assert [(item.code, item.severity) for item in routes.diagnostics] == [("FR112", "note")]
    with pytest.raises(ConfigError, match="FR112"):
        load("version: 1\nplatforms: {sim: {ops: {routes: {new_op: cpu}}}}\n", without)


# -- inheritance ----------------------------------------------------------------------------------------------------


@pytest.fixture
def child(load):
    """Return the routes of an entry with two ancestors."""
    return load(INHERITED).of("musa")


def test_own_probe_replaces_the_one_of_its_target(child, tmp_path):
    """A child's probe takes the place of its parent's and points at its own line; others are inherited."""
    assert [(item.target, item.redirect) for item in child.probes] == [
        ("torch.cuda.is_available", "device.is_here"),
        ("torch.cuda.device_count", "device.device_count"),
    ]
    assert [item.where for item in child.probes] == [f"{tmp_path}/routes.yaml:{line}:9" for line in (6, 20)]


def test_own_alias_and_patch_replace_those_of_their_name(child):
    """The entry in the middle overrides the base, and the child inherits that."""
    assert [(item.name, item.enabled) for item in child.aliases] == [("flagos", True), ("cuda", False)]
    assert [(item.id, item.enabled) for item in child.patches] == [("flaggems.philox", False)]


def test_own_op_route_replaces_the_one_of_its_overload(child):
    """`aten::mm.default` and `aten::mm` are one overload, so one replaces the other."""
    assert [(item.pattern, item.use) for item in child.ops] == [
        ("aten::mm.default", ("cpu",)),
        ("aten::sort.*", ("cpu",)),
        ("aten::add.Tensor", ("vendor",)),
    ]
    assert child.ops_prefer == ("cpu",)


def test_exclusions_are_added_to_the_inherited_ones(child, tmp_path):
    """A child's list adds to its parent's; the same overload stands once, at the child's place."""
    file = f"{tmp_path}/routes.yaml"

    assert child.ops_exclude == (
        OpExclusion("aten::cumsum", f"{file}:9:39"),
        OpExclusion("aten::add.Scalar", f"{file}:27:39"),
        OpExclusion("aten::var.correction", f"{file}:9:17"),
    )


def test_inherited_order_of_backends_keeps_its_place(child, tmp_path):
    """A preference that a parent states points at the parent's line."""
    assert child.ops_prefer_where == f"{tmp_path}/routes.yaml:25:15"


def test_capabilities_are_inherited_by_name(child):
    """A child's fact wins over its parent's."""
    assert [(item.name, item.state, item.source) for item in child.capabilities] == [
        ("fp64", "available", "child"),
        ("bf16", "available", "base"),
    ]


def test_order_of_entries_does_not_matter(load):
    """A parent may stand below its child."""
    entries = INHERITED.split("  middle:\n")
    swapped = "version: 1\nplatforms:\n  middle:\n" + entries[1] + entries[0].partition("platforms:\n")[2]

    def facts(routes):
        return [(item.target, item.redirect) for item in routes.of("musa").probes], routes.of("musa").ops_prefer

    assert facts(load(swapped)) == facts(load(INHERITED))


# -- names of overloads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["aten::mm", "aten::mm.default", "aten::mm.out", "aten::mm.*", "aten::div.*"])
def test_pattern_that_names_an_overload(pattern, known):
    """Exact overloads and all overloads of one operator are routes."""
    assert pattern_problem(pattern, known.overloads) is None


@pytest.mark.parametrize("pattern", ["aten::div", "aten::div.default", "aten::nothing.*", "mm", "aten::", "aten::mm."])
def test_pattern_that_names_none(pattern, known):
    """The bare name of an operator without an overload of that name never means nothing, or everything, silently."""
    assert pattern_problem(pattern, known.overloads) is not None


def test_kernels_of_an_absent_package_are_unchecked_and_it_says_so(load, known):
    """A route to a backend alone whose package is not there is valid, with one note for all such routes."""
    text = "version: 1\nplatforms: {sim: {ops: {routes: {aten::mm: tileops, aten::cumsum: tileops}}}}\n"
    (note,) = load(text).diagnostics

    assert (note.code, note.severity) == ("FR119", "note")
    assert note.message == "routes to 'tileops' alone were not checked: tileops is not installed"


def test_findings_come_in_the_order_of_the_text(load):
    """Findings of all stages are sorted by their place, so they can be worked off from the top."""
    with pytest.raises(ConfigError) as caught:
        load("platform: simm\nautoload: off\nplatforms: {sim: {aliases: {}}}\nwhat: 1\nversion: '1'\n")

    assert [item.code for item in caught.value.diagnostics] == ["FR108", "FR106", "FR104", "FR103", "FR104"]


# -- search ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path):
    """Return a home folder with nothing in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def written(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\n", encoding="utf-8")
    return path


def test_search_order(home):
    """Each place is looked at only where the earlier ones name nothing."""
    first, second, third, fourth = (
        written(home / name / "flagos" / "routes.yaml") for name in ("a", "b", "c", ".config")
    )
    env = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "c"),
        "FLAGOS_BACKEND_CONFIG": str(second),
        "FLAGOS_ROUTES": str(first),
    }
    found = []
    for name in ("FLAGOS_ROUTES", "FLAGOS_BACKEND_CONFIG", "XDG_CONFIG_HOME", "HOME"):
        found.append(find_routes(env))
        del env[name]

    assert found == [first, second, third, fourth]


def test_nothing_chosen_means_the_bundled_file(home):
    """Without a variable and without a user's file the shipped one is read."""
    assert find_routes({"HOME": str(home)}) == bundled_routes()
    assert bundled_routes().is_file()


@pytest.mark.parametrize("extra", [{}, {"XDG_CONFIG_HOME": "config"}, {"XDG_CONFIG_HOME": ""}, {"FLAGOS_ROUTES": " "}])
def test_working_directory_is_never_searched(home, monkeypatch, extra):
    """A routes.yaml where a program happens to start changes nothing, nor does a relative XDG_CONFIG_HOME."""
    work = home / "work"
    written(work / "routes.yaml")
    written(work / "config" / "flagos" / "routes.yaml")
    written(work / "flagos" / "routes.yaml")
    monkeypatch.chdir(work)

    assert find_routes({"HOME": str(home), **extra}) == bundled_routes()


def test_home_is_written_as_a_tilde(home):
    """A path in a variable that no shell has expanded is expanded here."""
    path = written(home / "mine.yaml")

    assert find_routes({"HOME": str(home), "FLAGOS_ROUTES": "~/mine.yaml"}) == path


@pytest.mark.parametrize("variable", ["FLAGOS_ROUTES", "FLAGOS_BACKEND_CONFIG"])
@pytest.mark.parametrize(("name", "reason"), [("missing.yaml", "no such file"), ("", "is a directory")])
def test_named_file_that_cannot_be_read_is_an_error(home, variable, name, reason):
    """A name that leads nowhere never falls back silently to another file."""
    with pytest.raises(ConfigError) as caught:
        find_routes({"HOME": str(home), variable: str(home / name)})

    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.where) == ("FR100", variable)
    assert reason in finding.message


def test_named_file_without_permission_is_an_error(home, monkeypatch):
    """A file that exists and may not be read is an error as well."""
    path = written(home / "mine.yaml")
    # the tests may run as root, who may read everything
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(ConfigError, match="permission denied"):
        find_routes({"HOME": str(home), "FLAGOS_ROUTES": str(path)})


def test_user_file_that_is_a_directory_is_an_error(home):
    """A broken file of the user is reported, not passed over."""
    (home / ".config" / "flagos" / "routes.yaml").mkdir(parents=True)

    with pytest.raises(ConfigError, match="FR100"):
        find_routes({"HOME": str(home)})


def test_upstream_conf_is_found(home):
    """A `.conf` of the ecosystem may be named where a route file may."""
    path = home / "backends_musa.conf"
    path.write_text("mm = flaggems\n", encoding="utf-8")

    assert find_routes({"FLAGOS_BACKEND_CONFIG": str(path)}) == path


def test_unreadable_file_of_the_loader_is_an_error(known):
    """A file that opens and then cannot be read gives the reason, not a traceback."""
    with pytest.raises(ConfigError, match="FR100"):
        load_routes(Path("/proc/self/mem"), known)


def test_search_loads_no_parser(run_python, expect_rc):
    """Finding the file and reading the environment need neither yaml nor pydantic."""
    result = run_python(
        """
        import sys
        import flagos_runtime.config.search, flagos_runtime.config.environment, flagos_runtime.config.overloads
        print(sorted({"yaml", "pydantic", "torch"} & set(sys.modules)))
        """,
        env={"FLAGOS_RUNTIME": "off"},
    )

    assert expect_rc(result).strip() == "[]"
