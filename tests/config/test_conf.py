"""Upstream confs: what is read of them, how they become a route file, and how routes become a conf again."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from flagos_runtime.config.conf import conf_stamp, platform_in_name
from flagos_runtime.config.conf_export import conf_text, exported
from flagos_runtime.config.conf_routes import ANY_PLATFORM, load_conf, read_table, spread
from flagos_runtime.config.conf_words import BACKENDS, WORDS, vendor_word, vendor_words
from flagos_runtime.config.loader import bundled_routes, load_routes
from flagos_runtime.config.overloads import installed_overloads
from flagos_runtime.config.traits import Traits
from flagos_runtime.errors import ConfigError
from flagos_runtime.facts import known_names
from flagos_runtime.plan import OpRoute
from flagos_runtime.plugins import load_plugins
from flagos_runtime.records import BackendTable

CONFS = Path(__file__).resolve().parents[1] / "data" / "confs"
FILES = sorted(CONFS.glob("*.conf"))
EACH = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
PLATFORMS = load_plugins(()).platforms
#: What the files' own comments say of their words.
MEANINGS = {
    "flagos_python": "python", "flaggems": "python", "flagos": "c++", "flaggems_cpp": "c++",
    "cuda": "own", "ascend": "own", "gcu": "own", "musa": "own", "metax": "own",
}  # fmt: skip


@pytest.fixture(scope="module")
def installed(known):
    """Return names with the overloads of the installed torch and the vendors' words."""
    return replace(known, overloads=installed_overloads(), vendors=vendor_words(PLATFORMS), tables={})


@pytest.fixture
def conf(tmp_path, known):
    """Write confs by name, and read the first."""

    def read(known=known, **texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.conf").write_text(text, encoding="utf-8")
        path = tmp_path / f"{next(iter(texts))}.conf"
        return read_table((path,), replace(known, vendors=vendor_words(PLATFORMS)))

    return read


def words_of(text, folder):
    """Parse a conf in the simplest way there is, to compare with."""
    found = {}
    for line in text.splitlines():
        bare = line.partition("#")[0].strip()
        if bare.startswith("include "):
            found.update(words_of((folder / bare.split()[1]).read_text(encoding="utf-8"), folder))
        elif bare:
            name, word = (part.strip() for part in bare.split("="))
            found[name] = word
    return found


def meanings_of(text, overloads):
    """Return what each operator that torch has is served by, however the file calls that."""
    return {name: MEANINGS[word] for name, word in words_of(text, CONFS).items() if f"aten::{name}" in overloads}


def findings_of(error):
    """Return code, file name and line of each finding."""
    return [(item.code, *Path(item.where).name.split(":")[:2]) for item in error.value.diagnostics]


# -- upstream's own files -------------------------------------------------------------------------------------------


def test_every_upstream_file_is_here():
    """The tests read the seventeen files that upstream had, and their licence lies beside them."""
    assert len(FILES) == 17
    assert "Apache License" in (CONFS / "LICENSE").read_text(encoding="utf-8")


@EACH
def test_export_of_an_import_means_the_same(file, installed):
    """A file that goes there and back serves each operator by what served it before."""
    ops = load_conf(file, installed).of(ANY_PLATFORM).ops
    text = conf_text(exported(ops, installed.overloads, "cuda").words, "made")

    assert meanings_of(text, installed.overloads) == meanings_of(file.read_text(encoding="utf-8"), installed.overloads)


@EACH
def test_order_of_the_file_is_kept(file, installed):
    """Routes stand in the order in which the text first names them."""
    names = list(read_table((file,), installed).assignments)
    wanted = [f"aten::{name}" for name in words_of(file.read_text(encoding="utf-8"), CONFS)]

    assert names == [name for name in wanted if name in installed.overloads]


def test_operators_that_torch_lacks_are_named(installed, expect_golden):
    """Each line whose operator the installed torch does not have is left out with its place and the nearest name."""
    found = read_table((CONFS / "backends_cuda.conf",), installed).diagnostics
    text = "".join(f"{item}\n" for item in found).replace(f"{CONFS}{os.sep}", "")

    expect_golden("conf_cuda.txt", text)


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("backends_musa.conf", "musa"),
        ("backends_metax_flagos_py.conf", "metax"),
        ("backends_dcu_flaggems.conf", "dcu"),
        ("backends_flaggems.conf", None),
        ("backends_musashi.conf", None),
        ("musa.conf", None),
    ],
)
def test_platform_in_the_name(name, platform):
    """A file is for the platform that it is called after."""
    assert platform_in_name(Path(name), {"musa", "metax", "dcu"}) == platform


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "backend"),
    [
        ("flaggems", "flaggems"),
        ("flaggems_python", "flaggems"),
        ("flagos_python", "flaggems"),
        ("flaggems_cpp", "flaggems_cpp"),
        ("flagos", "flaggems_cpp"),
        ("tileops", "tileops"),
        ("vendor", "vendor"),
        ("none", "cpu"),
        ("cpu", "cpu"),
    ],
)
def test_words_that_upstream_has(tmp_path, known, word, backend):
    """Old and new words for one thing come to one backend, in any case."""
    path = tmp_path / "a.conf"
    path.write_text(f"mm = {word}\nsort = {word.upper()}\n", encoding="utf-8")

    assert [route.use for route in load_conf(path, known).of(ANY_PLATFORM).ops] == [(backend,)] * 2


@pytest.mark.parametrize("word", ["cuda", "npu", "ascend", "mthreads", "metax", "hygon", "gcu", "txda"])
def test_each_name_of_a_vendor_means_its_kernel(word, tmp_path, known):
    """Names of platforms and devices, and FlagGems' names of vendors, all mean the kernel that the device has."""
    path = tmp_path / "a.conf"
    path.write_text(f"mm = {word}\n", encoding="utf-8")
    routes = load_conf(path, replace(known, vendors=vendor_words(PLATFORMS)))

    assert routes.of(ANY_PLATFORM).ops == (OpRoute("aten::mm", ("vendor",), f"{path}:1:1"),)


def test_word_flagos_is_no_vendor():
    """`flagos` is the device of the platform sim and upstream's word for FlagGems in C++: in a conf it is the word."""
    assert "flagos" not in vendor_words(PLATFORMS)


def test_vendor_word_of_cuda_shaped_platforms():
    """Where torch presents the device as CUDA the word is cuda, else the platform's name."""
    found = {item.name: vendor_word(item) for item in PLATFORMS}

    assert [found[name] for name in ("dcu", "metax", "ascend", "gcu")] == ["cuda", "cuda", "ascend", "gcu"]


def test_ambiguous_word_is_noted(installed):
    """Where the word flaggems stands beside an older one, somebody should look: its meaning has changed since."""
    (note,) = read_table((CONFS / "backends_tsingmicro.conf",), installed).diagnostics

    assert (note.code, note.severity) == ("FR113", "note")
    assert "stands beside the older word 'flagos_python'" in note.message


# -- lines ----------------------------------------------------------------------------------------------------------


def test_annotation_is_kept(conf):
    """What stands behind a value belongs to it."""
    found = conf(a="mm = cuda  # needs 96 KiB # of shared memory \nmm.out = cuda\n").assignments

    assert [item.annotation for item in found.values()] == ["needs 96 KiB # of shared memory", ""]


def test_later_assignment_wins(conf):
    """Of two lines in one file the later holds, and a note names both."""
    found = conf(a="mm = cuda\nmm.out = cuda\n\nmm = flaggems\n")
    (note,) = found.diagnostics

    assert found.assignments["aten::mm"].word == "flaggems"
    assert (note.code, note.severity, note.message) == (
        "FR115", "note", "line 4 wins over line 1, which assigns 'mm' too",
    )  # fmt: skip


def test_include_is_overridden_without_a_word(conf):
    """To override what a file includes is what an include is for; its own order is kept."""
    found = conf(a="mm.out = cuda\ninclude b.conf # all of it\nmm = flaggems\n", b="sort = cuda\nmm = cuda\n")

    assert [(name, item.word) for name, item in found.assignments.items()] == [
        ("aten::mm.out", "cuda"),
        ("aten::sort", "cuda"),
        ("aten::mm", "flaggems"),
    ]
    assert found.diagnostics == ()


def test_include_is_relative_to_its_file(tmp_path, conf):
    """The folder is that of the file with the include, whatever the working directory."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.conf").write_text("include d.conf\n", encoding="utf-8")
    (tmp_path / "sub" / "d.conf").write_text("mm = cuda\n", encoding="utf-8")

    assert list(conf(a="include sub/c.conf\n").assignments) == ["aten::mm"]


def test_every_mistake_at_once(conf):
    """Errors and warnings of all files come together, in the order of the text, each with its line."""
    with pytest.raises(ConfigError) as caught:
        conf(
            a="mm = cudda\nnonsense\nadd.Tensr = cuda\ninclude b.conf\ninclude gone.conf\n"
            "aten::mm = cuda\nsort.* = cpu\n",
            b="mm.out = flagems\n",
        )

    assert findings_of(caught) == [
        ("FR113", "a.conf", "1"),
        ("FR104", "a.conf", "2"),
        ("FR112", "a.conf", "3"),
        ("FR113", "b.conf", "1"),
        ("FR100", "a.conf", "5"),
        ("FR104", "a.conf", "6"),
        ("FR104", "a.conf", "7"),
    ]
    hints = {item.hint for item in caught.value.diagnostics}
    assert {"did you mean 'cuda'?", "did you mean 'flaggems'?", "did you mean 'aten::add.Tensor'?"} <= hints
    assert "gone.conf' cannot be read: no such file or directory" in caught.value.diagnostics[4].message


def test_circle_of_includes(conf):
    """A circle is refused where it closes, and its members are named."""
    with pytest.raises(ConfigError) as caught:
        conf(a="include b.conf\n", b="mm = cuda\ninclude ./a.conf\n")

    (finding,) = caught.value.diagnostics
    assert findings_of(caught) == [("FR109", "b.conf", "2")]
    assert finding.message == "the include leads back to itself: 'a.conf' > 'b.conf' > 'a.conf'"


def test_doubling_includes_end(conf):
    """Files that include the next twice do not grow without bound."""
    texts = {f"f{number}": f"include f{number + 1}.conf\n" * 2 for number in range(12)}
    with pytest.raises(ConfigError) as caught:
        conf(**texts, f12="mm = cuda\n")

    assert {item.code for item in caught.value.diagnostics} == {"FR107"}


@pytest.mark.parametrize(("data", "code"), [(b"mm = \xff\n", "FR104"), (b"#" * 1048577, "FR107")], ids=["utf8", "size"])
def test_file_that_is_no_conf(tmp_path, known, data, code):
    """Other bytes are refused as a whole."""
    (tmp_path / "a.conf").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_table((tmp_path / "a.conf",), known)

    assert [item.code for item in caught.value.diagnostics] == [code]


def test_pipe_is_not_waited_for(tmp_path, known):
    """A named pipe without a writer is refused instead of being read."""
    os.mkfifo(tmp_path / "a.conf")
    with pytest.raises(ConfigError, match="no regular file"):
        read_table((tmp_path / "a.conf",), known)


def test_without_torch_names_are_not_checked(conf, known):
    """Where torch is not installed a note says that no operator was looked up."""
    found = conf(known=replace(known, overloads=None), a="what.ever = cuda\n")

    assert list(found.assignments) == ["aten::what.ever"]
    assert [(item.code, item.severity) for item in found.diagnostics] == [("FR112", "note")]


# -- what this machine cannot serve ---------------------------------------------------------------------------------


def test_kernel_that_flaggems_lacks_leaves_the_operator_to_the_device(conf, known):
    """A line for a kernel that the installed FlagGems does not have is kept, with the device's kernel behind it."""
    tables = {"flaggems": BackendTable(True, "flag_gems 5.0.2", frozenset({"aten::mm"}))}
    found = conf(known=replace(known, tables=tables), a="sort = cuda\nmm = flaggems\nsort = flaggems\n")

    assert found.uses == {"aten::mm": ("flaggems",), "aten::sort": ("flaggems", "vendor")}
    assert [(item.code, item.severity) for item in found.diagnostics] == [("FR119", "note"), ("FR115", "note")]


def test_view_without_a_kernel_is_left_to_torch(conf, known):
    """`none` means torch's own way, and for a view that is no copy on the CPU: there is no route, and a note."""
    views = replace(known, traits=lambda name: Traits(view=name == "aten::unsqueeze"))
    found = conf(known=views, a="unsqueeze = none\nsort = none\n")

    assert list(found.assignments) == ["aten::sort"]
    assert [(item.code, item.severity) for item in found.diagnostics] == [("FR120", "note")]


# -- a conf in place of a route file --------------------------------------------------------------------------------


def test_conf_is_for_every_platform(tmp_path):
    """A conf that stands in for a route file changes the operators of the process, and nothing else that is shipped."""
    path = tmp_path / "mine.conf"
    path.write_text("mm = flaggems\n", encoding="utf-8")
    known = known_names(load_plugins(()))
    shipped = load_routes(bundled_routes(), known)
    found = spread(load_routes(path, known), shipped, known.platforms)

    assert {name: [item.pattern for item in entry.ops] for name, entry in found.platforms.items()} == {
        name: ["aten::mm"] for name in known.platforms
    }
    assert found.of("musa") == replace(shipped.of("musa"), ops=found.of("musa").ops)
    assert found.source == str(path)


@pytest.mark.parametrize("changed", ["a.conf", "b.conf", "c.conf"])
def test_stamp_changes_with_every_file(tmp_path, changed):
    """What is kept of a conf is used only as long as it and all that it includes stay as they are."""
    for name, text in {"a": "include b.conf\n", "b": "include c.conf\ninclude a.conf\n", "c": "mm = cuda\n"}.items():
        (tmp_path / f"{name}.conf").write_text(text, encoding="utf-8")
    before = conf_stamp(tmp_path / "a.conf")
    with (tmp_path / changed).open("a", encoding="utf-8") as file:
        file.write("# more\n")

    assert conf_stamp(tmp_path / "a.conf") != before


def test_stamp_of_an_include_that_appears(tmp_path):
    """A file that was missing belongs to the stamp."""
    (tmp_path / "a.conf").write_text("include b.conf\n", encoding="utf-8")
    before = conf_stamp(tmp_path / "a.conf")
    (tmp_path / "b.conf").write_text("mm = cuda\n", encoding="utf-8")

    assert conf_stamp(tmp_path / "a.conf") != before


# -- export ---------------------------------------------------------------------------------------------------------

OVERLOADS = frozenset({"aten::mm", "aten::sort", "aten::sort.stable", "aten::cumsum"})


def test_pattern_is_written_out():
    """A pattern stands for its overloads, and an exact name wins wherever it stands."""
    routes = (OpRoute("aten::sort.*", ("cpu",), "a:1:1"), OpRoute("aten::sort.default", ("vendor",), "a:2:1"))

    assert exported(routes, OVERLOADS, "musa").words == {"sort.stable": "none", "sort": "musa"}


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_exported_word_is_read_back(backend):
    """Each word that is written means, when it is read, the backend that it was written for."""
    assert WORDS[BACKENDS[backend]] == backend


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        (OpRoute("aten::mm", ("vendor", "cpu"), "a:1:1"), "has 2 backends"),
        (OpRoute("aten::mm", ("none",), "a:1:1"), "has the backend 'none'"),
        (OpRoute("aten::mm", ("vendor",), "a:1:1", guard={"min_numel": 2}), "has a guard"),
        (OpRoute("aten::mm", ("vendor",), "a:1:1", on_failure="cpu"), "has 'on_failure: cpu'"),
    ],
    ids=["list", "none", "guard", "failure"],
)
def test_route_that_a_conf_cannot_express(route, reason):
    """What a conf has no words for is refused with its place, or left out where somebody asks for that."""
    with pytest.raises(ConfigError) as caught:
        exported((route,), OVERLOADS, "musa")
    (finding,) = caught.value.diagnostics
    left = exported((route,), OVERLOADS, "musa", lossy=True)

    assert (finding.code, finding.where) == ("FR121", "a:1:1")
    assert finding.message == f"'aten::mm' {reason}, which an upstream conf cannot express"
    assert (left.words, [item.severity for item in left.diagnostics]) == ({}, ["warning"])


def test_text_of_a_conf():
    """One line an overload, below two lines of comment."""
    assert re.fullmatch(r"# made\n# .*\n\nmm = musa\nsort = none\n", conf_text({"mm": "musa", "sort": "none"}, "made"))
