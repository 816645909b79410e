"""Environment variables: one table, typed values, and a warning for what is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagos_runtime.config.environment import VARIABLES, environment_page, read_environment, switch_names

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"
NAMES = {
    "FLAGOS_ALIAS_CUDA",
    "FLAGOS_BACKEND_CONFIG",
    "FLAGOS_FORCE_BACKEND",
    "FLAGOS_LOG",
    "FLAGOS_OP_",
    "FLAGOS_OVERRIDE_",
    "FLAGOS_PLATFORM",
    "FLAGOS_ROUTES",
    "FLAGOS_RUNTIME",
    "FLAGOS_SIM_DEVICES",
    "FLAGOS_SIM_MEMORY",
    "FLAGOS_STARTUP_PROFILE",
    "GEMS_VENDOR",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
}


def test_table_has_every_name_once():
    """The table is the one list of what is read."""
    assert sorted(item.name for item in VARIABLES) == sorted(NAMES)
    assert all(item.purpose for item in VARIABLES)


def test_page_is_in_sync():
    """docs/environment.md is the page that the table makes; if not, write environment_page() to it."""
    assert environment_page() == PAGE.read_text(encoding="utf-8"), "run make schema"


def test_empty_environment_has_defaults_and_no_warning():
    """Nothing needs to be set."""
    environment = read_environment({})

    assert environment.switch("FLAGOS_RUNTIME")
    assert environment.switch("FLAGOS_ALIAS_CUDA")
    assert environment.choice("FLAGOS_FORCE_BACKEND") == ""
    assert environment.text("FLAGOS_PLATFORM") == ""
    assert environment.integer("FLAGOS_SIM_DEVICES") == 1
    assert environment.integer("FLAGOS_SIM_MEMORY") == 4 * 2**30
    assert environment.diagnostics == ()


@pytest.mark.parametrize("word", ["1", "true", "on", "yes", "TRUE", "On", " yes ", "", "  "])
def test_words_for_yes(word):
    """Truth words count in any case; an empty value is an unset one."""
    environment = read_environment({"FLAGOS_ALIAS_CUDA": word})

    assert environment.switch("FLAGOS_ALIAS_CUDA") is True
    assert environment.diagnostics == ()


@pytest.mark.parametrize("word", ["0", "false", "off", "no", "FALSE", "Off"])
def test_words_for_no(word):
    """So do the words for no."""
    environment = read_environment({"FLAGOS_RUNTIME": word})

    assert environment.switch("FLAGOS_RUNTIME") is False
    assert environment.diagnostics == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLAGOS_RUNTIME", "disabled"),
        ("FLAGOS_ALIAS_CUDA", "2"),
        ("FLAGOS_FORCE_BACKEND", "triton"),
        ("FLAGOS_STARTUP_PROFILE", "ful"),
        ("FLAGOS_SIM_DEVICES", "0"),
        ("FLAGOS_SIM_DEVICES", "17"),
        ("FLAGOS_SIM_DEVICES", "1K"),
        ("FLAGOS_SIM_DEVICES", "two"),
        ("FLAGOS_SIM_MEMORY", "0"),
        ("FLAGOS_SIM_MEMORY", "-1"),
        ("FLAGOS_SIM_MEMORY", "4 apples"),
        ("FLAGOS_SIM_MEMORY", "4.5G"),
    ],
)
def test_value_that_is_not_understood_warns_and_the_default_holds(name, value):
    """A typing mistake in a variable stops no program."""
    environment = read_environment({name: value})

    (warning,) = environment.diagnostics
    assert (warning.code, warning.severity, warning.where) == ("FR116", "warning", name)
    assert f"'{value}'" in warning.message
    assert environment.values[name] == read_environment({}).values[name]


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("512M", 512 * 2**20), ("4G", 2**32), ("4g", 2**32), ("2 KiB", 2048), ("1TB", 2**40), ("65536", 65536)],
)
def test_memory_has_units(text, number):
    """Sizes are bytes, or a number with a unit of 1024."""
    assert read_environment({"FLAGOS_SIM_MEMORY": text}).integer("FLAGOS_SIM_MEMORY") == number


def test_log_keeps_the_words_it_knows():
    """One unknown word in the list does not silence the others."""
    environment = read_environment({"FLAGOS_LOG": "Dispatch, , patch,everything"})

    assert environment.text("FLAGOS_LOG") == "dispatch,patch"
    assert [item.code for item in environment.diagnostics] == ["FR116"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("FLAGOS_ROUTE", "did you mean 'FLAGOS_ROUTES'?"),
        ("FLAGOS_ALIAS_CUDE", "did you mean 'FLAGOS_ALIAS_CUDA'?"),
        ("FLAGOS_XYZZY", "docs/environment.md lists the names"),
    ],
)
def test_unknown_name_is_warned_about(name, hint):
    """A misspelt variable does not pass for a working one."""
    (warning,) = read_environment({name: "1"}).diagnostics

    assert (warning.code, warning.where, warning.hint) == ("FR116", name, hint)


def test_names_of_others_are_none_of_our_business():
    """Only names with our prefix are judged."""
    assert read_environment({"PATH": "/bin", "GEMS_VENDOR": "mthreads", "XFLAGOS_Y": "1"}).diagnostics == ()


def test_families_keep_their_values_verbatim():
    """An override that is set and empty means something, so it is kept."""
    environment = read_environment({"FLAGOS_OP_add__Tensor": "cpu", "FLAGOS_OVERRIDE_CUDA_PCI": ""})

    assert environment.family("FLAGOS_OP_") == {"add__Tensor": "cpu"}
    assert environment.family("FLAGOS_OVERRIDE_") == {"CUDA_PCI": ""}
    assert environment.diagnostics == ()


@pytest.mark.parametrize("name", ["FLAGOS_NOTHING", "FLAGOS_LOG", "FLAGOS_OP_"])
def test_getter_refuses_what_is_not_declared_so(name):
    """A mistake of ours in a name is an error, not a default."""
    with pytest.raises(LookupError, match=name):
        read_environment({}).switch(name)


def test_switches_for_routes():
    """A route can hang on a switch only."""
    assert switch_names() == {"FLAGOS_ALIAS_CUDA", "FLAGOS_RUNTIME"}


def test_values_are_safe_to_print():
    """Control characters of a value do not reach the terminal."""
    (warning,) = read_environment({"FLAGOS_RUNTIME": "\x1b[31mred"}).diagnostics

    assert "\x1b" not in str(warning)
