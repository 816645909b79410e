"""Plugins: a good one is described, a broken one becomes a diagnostic and leaves the others alone."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, PathDistribution
from textwrap import dedent

import pytest

from flagos_runtime.plugins import BUILTIN, GROUP, PluginSet, load_plugins

GOOD = """
    from flagos_runtime.hookspecs import hookimpl
    from flagos_runtime.records import Platform

    @hookimpl
    def flagos_platform():
        return Platform(name="good", title="Good", kind="private_use1", device_type="good")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Write a distribution with one plugin module and return its entry point."""
    names: list[str] = []
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, code: str, *, version: str = "1.2") -> EntryPoint:
        module = f"{name}_flagos_plugin"
        names.append(module)
        (tmp_path / f"{module}.py").write_text(dedent(code), encoding="utf-8")
        info = tmp_path / f"{module}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}\n", encoding="utf-8")
        (point,) = PathDistribution(info).entry_points
        return point

    yield write
    for module in names:
        sys.modules.pop(module, None)


def load(*points: EntryPoint):
    """Load the plugins of *points* without the built-in ones."""
    return load_plugins(points, builtin=())


def codes(plugins) -> list[str]:
    """Return the codes of the diagnostics."""
    return [item.code for item in plugins.diagnostics]


# -- what loads -----------------------------------------------------------------------------------------------------


def test_builtin_platforms_load():
    """The platforms of this tree load without a diagnostic."""
    plugins = load_plugins(())

    assert [f"flagos_platforms.{item.name}" for item in plugins.platforms] == list(BUILTIN)
    assert plugins.diagnostics == ()


def test_provenance_names_the_distribution(install):
    """Each platform is traced to the distribution that describes it, with its version."""
    assert dict(load(install("good", GOOD)).provenance) == {"good": "good-dist 1.2"}


def test_entries_name_where_a_platform_was_found(install):
    """Each platform is traced to the module or the entry point that describes it."""
    assert dict(load(install("good", GOOD)).entries) == {"good": "good"}
    assert load_plugins(()).entries["sim"] == "flagos_platforms.sim"


def test_an_empty_set_has_empty_mappings():
    """A plugin set of nothing can be asked like any other."""
    empty = PluginSet()

    assert (dict(empty.patches), dict(empty.provenance), dict(empty.entries)) == ({}, {}, {})


def test_builtin_platforms_come_from_this_distribution():
    """The built-in platforms are this distribution's own."""
    assert {item.partition(" ")[0] for item in load_plugins(()).provenance.values()} == {"flagos-runtime"}


def test_installed_entry_points_are_found(install):
    """Without an argument the entry points of installed distributions are loaded."""
    install("good", GOOD)

    assert "good" in [item.name for item in load_plugins(builtin=()).platforms]


def test_patches_are_kept_by_platform(install):
    """Steps arrive in the order in which the plugin declares them; a plugin without any has none."""
    patches = """
        from flagos_runtime.records import StepSpec

        @hookimpl
        def flagos_patches():
            yield StepSpec("patch:b", "patch", "torch.b", "good:b")
            yield StepSpec("patch:a", "patch", "torch.a", "good:a")
    """
    plugins = load(install("good", dedent(GOOD) + dedent(patches)), install("other", GOOD.replace('"good"', '"other"')))

    assert [item.id for item in plugins.patches["good"]] == ["patch:b", "patch:a"]
    assert plugins.patches["other"] == ()


BACKENDS = """
    from flagos_runtime.records import OpBackend

    @hookimpl
    def flagos_op_backends():
        yield OpBackend("acme_ops", "the kernel of Acme", "acme:table", "acme:kernel")
"""


def test_backends_of_plugins_are_listed(install):
    """A backend that a plugin declares is known, whatever platform the host has."""
    plugins = load(install("good", dedent(GOOD) + dedent(BACKENDS)))

    assert [item.name for item in plugins.backends] == ["acme_ops"]
    assert load(install("other", GOOD)).backends == ()


def test_the_second_plugin_with_a_backend_of_one_name_is_refused(install):
    """Which kernels a route means must not depend on the order of installation."""
    code = dedent(GOOD) + dedent(BACKENDS)
    plugins = load(install("a_first", code), install("b_second", code.replace('"good"', '"other"')))

    (found,) = plugins.diagnostics
    assert (found.code, found.where) == ("FR206", "plugin 'b_second' of b_second-dist 1.2")
    assert found.message == "backend 'acme_ops' is declared by plugin 'a_first' of a_first-dist 1.2 already"
    assert [item.name for item in plugins.backends] == ["acme_ops"]


def test_a_plugin_may_be_an_object(install):
    """An entry point may name an object with hook methods in place of a module."""
    code = """
        from flagos_runtime.hookspecs import hookimpl
        from flagos_runtime.records import Platform

        class Plugin:
            @hookimpl
            def flagos_platform(self):
                return Platform(name="good", title="Good", kind="private_use1", device_type="good")

        plugin = Plugin()
    """
    point = install("good", code)

    assert codes(load(EntryPoint("good", f"{point.value}:plugin", GROUP))) == []


def test_the_result_cannot_be_changed(install):
    """A plugin set is a record, its mappings included."""
    plugins = load(install("good", GOOD))

    with pytest.raises(TypeError):
        plugins.provenance["good"] = "another"


def test_loading_prints_nothing(install, capfd):
    """A broken plugin is reported in the result only."""
    load(install("broken", "raise RuntimeError('no device')"))

    assert capfd.readouterr() == ("", "")


# -- what does not load ---------------------------------------------------------------------------------------------

HEAD = (
    "from flagos_runtime.hookspecs import hookimpl\n"
    "from flagos_runtime.records import OpBackend, Platform, ProbeSpec, StepSpec\n"
)
ACME = 'Platform(name="acme", title="Acme", kind="private_use1", device_type="acme")'
PLATFORM = f"@hookimpl\ndef flagos_platform():\n    return {ACME}\n"
BROKEN = {
    "import": ("FR201", "raise ImportError('libacme.so.1: cannot open')", "ImportError: libacme.so.1: cannot open"),
    "import-attribute": ("FR201", "import no_such_module_of_acme", "ModuleNotFoundError: No module named"),
    "misspelt": ("FR202", f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_patchs():\n    return ()", "no hook 'flagos_patchs'"),
    "misspelt-unmarked": ("FR202", f"{HEAD}{PLATFORM}def flagos_helper():\n    pass", "no hook 'flagos_helper'"),
    "unmarked": ("FR202", f"{HEAD}def flagos_platform():\n    return {ACME}", "'flagos_platform' is unmarked"),
    "other-prefix": ("FR202", f"{HEAD}{PLATFORM}@hookimpl\ndef platform():\n    return 1", "unknown hook 'platform'"),
    "argument": ("FR203", f"{HEAD}@hookimpl\ndef flagos_platform(host):\n    return {ACME}", "{'host'}"),
    "raises": ("FR204", f"{HEAD}@hookimpl\ndef flagos_platform():\n    1 / 0", "raised ZeroDivisionError: division"),
    "wrong-type": (
        "FR204",
        f"{HEAD}@hookimpl\ndef flagos_platform():\n    return 'acme'",
        "returned str, wanted Platf",
    ),
    "nothing": ("FR204", f"{HEAD}@hookimpl\ndef flagos_platform():\n    return None", "gave 0 platforms"),
    "absent": ("FR204", "", "gave 0 platforms"),
    "two": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl(specname='flagos_platform')\ndef another():\n    return {ACME}",
        "gave 2 platforms",
    ),
    "name": (
        "FR204",
        f"{HEAD}@hookimpl\ndef flagos_platform():\n    return {ACME.replace('acme', 'auto')}",
        "'auto' cannot be a platform's name",
    ),
    "probe-type": (
        "FR204",
        f"{HEAD}@hookimpl\ndef flagos_platform():\n    return {ACME[:-1]}, probes=('/dev/acme0',))",
        "'probes' holds str, wanted ProbeSpec",
    ),
    "probe-subjects": (
        "FR204",
        f"{HEAD}@hookimpl\ndef flagos_platform():\n    return {ACME[:-1]}, probes=(ProbeSpec('p', 'path', '/d', ''),))",
        "probe 'p' has the subjects '/d', wanted a tuple",
    ),
    "probes-malformed": (
        "FR204",
        f"{HEAD}@hookimpl\ndef flagos_platform():\n    return {ACME[:-1]}, probes=None)",
        "its platform is malformed TypeError",
    ),
    "patches-raise": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_patches():\n    yield 1 / 0",
        "flagos_patches raised ZeroDivisionError",
    ),
    "patches-type": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_patches():\n    return ['torch.a']",
        "flagos_patches gave str, wanted StepSpec",
    ),
    "patches-scalar": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_patches():\n    return 7",
        "flagos_patches returned int, wanted StepSpec records",
    ),
    "backends-raise": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    yield 1 / 0",
        "flagos_op_backends raised ZeroDivisionError",
    ),
    "backends-type": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return ['acme_ops']",
        "flagos_op_backends gave str, wanted OpBackend",
    ),
    "backends-name": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend('Acme', 'x', kernel='a:b')]",
        "'Acme' cannot be a backend's name, wanted lower-case letters, digits and '_'",
    ),
    "backends-kernel": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend('acme', 'x')]",
        "backend 'acme' has the kernel '', wanted 'module:function'",
    ),
    "backends-table": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend('acme', 'x', 'ab', 'a:b')]",
        "backend 'acme' has the table 'ab', wanted 'module:function' or nothing",
    ),
    "backends-malformed": (
        "FR204",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend(None, 'x', 'a:b', 'a:b')]",
        "its backend is malformed TypeError",
    ),
    "backends-reserved": (
        "FR206",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend('cpu', 'x', kernel='a:b')]",
        "backend 'cpu' is declared by this runtime already",
    ),
    "backends-twice": (
        "FR206",
        f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_op_backends():\n    return [OpBackend('acme', 'x', kernel='a:b')] * 2",
        "backend 'acme' is declared by this plugin already",
    ),
    "names-raise": (
        "FR204",
        f"{HEAD}{PLATFORM}def __dir__():\n    raise RuntimeError('lazy')",
        "looking at its names raised RuntimeError: lazy",
    ),
}


@pytest.mark.parametrize(("code", "source", "cause"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_is_reported_and_left_out(install, code, source, cause):
    """The diagnostic names the entry point, the distribution with its version, and the cause; nothing else suffers."""
    plugins = load(install("broken", source), install("good", GOOD))

    assert [item.name for item in plugins.platforms] == ["good"]
    (found,) = plugins.diagnostics
    assert (found.code, found.severity) == (code, "error")
    assert found.where == "plugin 'broken' of broken-dist 1.2"
    assert cause in found.message
    assert "\n" not in found.message


def test_a_refused_plugin_does_not_answer_later(install):
    """Pluggy keeps a plugin with a bad argument registered; its other hooks must not leak into the next plugin's."""
    patches = "@hookimpl\ndef flagos_patches():\n    return [StepSpec('patch:x', 'patch', 'torch.x', 'x:x')]\n"
    broken = f"{HEAD}{patches}@hookimpl\ndef flagos_platform(host):\n    return {ACME}"
    plugins = load(install("broken", broken), install("good", GOOD))

    assert plugins.patches["good"] == ()


def test_misspelt_hook_has_a_hint(install):
    """A name that is close to a hook's gets a suggestion."""
    code = f"{HEAD}{PLATFORM}@hookimpl\ndef flagos_patchs():\n    return ()"

    assert load(install("broken", code)).diagnostics[0].hint == "did you mean 'flagos_patches'?"


def test_every_misspelt_hook_is_reported(install):
    """All misspelt hooks of a plugin are reported, not only the first."""
    code = f"{HEAD}@hookimpl\ndef flagos_platfrom():\n    pass\n@hookimpl\ndef flagos_patchs():\n    pass"

    assert codes(load(install("broken", code))) == ["FR202", "FR202"]


def test_a_hook_of_a_later_version_may_be_optional(install):
    """A plugin may implement a hook that this version lacks, when it says so."""
    code = f"{HEAD}{PLATFORM}@hookimpl(optionalhook=True)\ndef flagos_later():\n    pass"

    assert codes(load(install("acme", code))) == []


def test_duplicate_platform_names_both_distributions(install):
    """Of two plugins for one platform the first stays, and the diagnostic says who provides each."""
    first, second = install("a_first", GOOD, version="1.0"), install("b_second", GOOD, version="2.0")
    plugins = load(second, first)

    assert dict(plugins.provenance) == {"good": "a_first-dist 1.0"}
    (found,) = plugins.diagnostics
    assert (found.code, found.where) == ("FR205", "plugin 'b_second' of b_second-dist 2.0")
    assert found.message == "platform 'good' is described by plugin 'a_first' of a_first-dist 1.0 already"


def test_builtin_platform_wins_over_an_installed_one(install):
    """Another distribution cannot take over a platform of this tree unnoticed."""
    plugins = load_plugins([install("good", GOOD.replace('"good"', '"cuda"'))])

    assert codes(plugins) == ["FR205"]
    assert plugins.provenance["cuda"].startswith("flagos-runtime")


def test_one_module_under_two_names_loads_once(install):
    """A second entry point to a module that is loaded already is reported."""
    point = install("good", GOOD)
    plugins = load(point, EntryPoint("zweit", point.value, GROUP))

    assert codes(plugins) == ["FR205"]
    assert [item.name for item in plugins.platforms] == ["good"]


def test_entry_point_without_distribution_says_so():
    """An entry point that belongs to no distribution is reported as such."""
    (found,) = load(EntryPoint("lost", "no_such_module_of_lost", GROUP)).diagnostics

    assert found.where == "plugin 'lost' of an unknown distribution"
