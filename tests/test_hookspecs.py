"""Hook specifications: documented with examples that work as they stand."""

from __future__ import annotations

import inspect
import sys
import textwrap
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from flagos_runtime import hookspecs
from flagos_runtime.backends import tables_of
from flagos_runtime.plugins import GROUP, HOOKS, load_plugins
from flagos_runtime.records import Platform, StepSpec


def example_of(hook: str) -> str:
    """Return the Python plugin in the docstring of *hook*."""
    text = inspect.getdoc(getattr(hookspecs, hook)) or ""
    lines = text.partition("``acme_flagos.py``::\n")[2].splitlines()
    stop = next(index for index, line in enumerate(lines) if line and not line.startswith("    "))
    return textwrap.dedent("\n".join(lines[:stop]))


@pytest.fixture
def load_example(monkeypatch):
    """Load the example of a hook as if its distribution were installed."""

    def load(hook: str):
        module = ModuleType("acme_flagos")
        monkeypatch.setitem(sys.modules, "acme_flagos", module)
        exec(compile(example_of(hook), "acme_flagos.py", "exec"), vars(module))
        return load_plugins([EntryPoint("acme", "acme_flagos", GROUP)], builtin=())

    return load


def test_the_hooks():
    """These are the hooks; a new one needs an example and a test here."""
    assert set(HOOKS) == {"flagos_platform", "flagos_patches", "flagos_op_backends"}


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_docstring_has_all_parts(hook):
    """A hook is described by one sentence, a whole example plugin and what it returns."""
    text = inspect.getdoc(getattr(hookspecs, hook)) or ""

    assert text.splitlines()[0].endswith(".")
    assert "Returns:\n" in text
    assert "@hookimpl" in example_of(hook)


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_example_loads(hook, load_example):
    """The example of a hook's docstring is a plugin that loads without a diagnostic."""
    plugins = load_example(hook)

    assert plugins.diagnostics == ()
    assert [item.name for item in plugins.platforms] == ["acme"]


def test_example_of_flagos_platform_describes_a_platform(load_example):
    """The platform of the example has probes that tell presence and usability."""
    (platform,) = load_example("flagos_platform").platforms

    assert isinstance(platform, Platform)
    assert [(spec.presence, spec.required) for spec in platform.probes] == [(True, False), (False, True)]


def test_example_of_flagos_patches_declares_a_step(load_example):
    """The step of the example arrives under its platform's name."""
    (step,) = load_example("flagos_patches").patches["acme"]

    assert isinstance(step, StepSpec)
    assert step.id == "patch:acme.empty_cache"


def test_example_of_flagos_op_backends_declares_a_backend(load_example):
    """The backend of the example is known by its name, and the function that it names gives a table."""
    plugins = load_example("flagos_op_backends")

    assert [item.name for item in plugins.backends] == ["acme_ops"]
    assert tables_of(plugins.backends)("acme_ops").overloads == {"aten::mm", "aten::sum.dim_IntList"}


def test_entry_point_group_in_the_example():
    """The group that the example names is the one that is searched."""
    assert f'[project.entry-points."{GROUP}"]' in (inspect.getdoc(hookspecs.flagos_platform) or "")


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_specification_has_no_body(hook):
    """A specification is never an implementation."""
    with pytest.raises(NotImplementedError):
        getattr(hookspecs, hook)()
