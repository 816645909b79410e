"""Design rules that a program can check, over every module of the package and of the platforms."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.writes import Source

ROOT = Path(__file__).resolve().parents[2]
WRITER = "flagos_runtime/ledger.py"
LIBRARY_MAKER = "flagos_runtime/integration/routing/library.py"
INTEGRATION = "flagos_runtime/integration/"
#: Above integration in the layers, so they may reach it, inside a function.
MAY_REACH_INTEGRATION = (
    "flagos_runtime/activation.py",
    "flagos_runtime/explanation.py",
    "flagos_runtime/facts.py",
    "flagos_runtime/measurement.py",
    "flagos_runtime/preview.py",
    "flagos_runtime/replay.py",
    "flagos_runtime/snapshot.py",
    "flagos_runtime/statuses.py",
    "flagos_runtime/survey/",
    "flagos_runtime/tune/",
)
#: Running a user's script means to be its interpreter: the command line owns that process.
OWN_PROCESS = {"flagos_runtime/script.py": ("writes sys: sys.argv", "writes sys.path: sys.path[0]")}
PRINTER = "flagos_runtime/cli.py"
MOST_LINES = 500
MEDIAN_FUNCTION_LINES = 10


def sources() -> Iterator[Source]:
    """Yield every module of the package and of the platforms."""
    for folder in ("flagos_runtime", "platforms"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield Source(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


# -- the laws -----------------------------------------------------------------------------------------------------


def test_only_the_ledger_writes_on_foreign_objects():
    """No module but the ledger sets, deletes or replaces what is not its own."""
    found = [
        str(item)
        for source in sources()
        if source.path != WRITER
        for item in source.foreign_writes()
        if item.what not in OWN_PROCESS.get(source.path, ())
    ]

    assert found == []


def test_one_module_makes_torch_libraries():
    """Undoing a registration means destroying its Library, so one module owns them all."""
    found = [str(item) for source in sources() if source.path != LIBRARY_MAKER for item in source.library_makers()]

    assert found == []


def test_torch_is_imported_in_integration_only():
    """Everything outside integration works in an interpreter that never loads torch."""
    found = [
        f"{source.path}:{item.line}: imports {item.module}"
        for source in sources()
        if not source.path.startswith(INTEGRATION)
        for item in source.imports()
        if item.module.partition(".")[0] == "torch"
    ]

    assert found == []


def test_integration_is_imported_late():
    """Reaching integration loads torch, so it happens inside a function, and only where the layers allow it."""
    found = [
        f"{source.path}:{item.line}: imports {item.module}"
        for source in sources()
        if not source.path.startswith(INTEGRATION)
        for item in source.imports()
        if item.module.startswith("flagos_runtime.integration")
        and (item.at_module_level or not source.path.startswith(MAY_REACH_INTEGRATION))
    ]

    assert found == []


def test_only_the_command_line_prints():
    """A library never writes to its user's standard output."""
    found = [str(item) for source in sources() if source.path != PRINTER for item in source.prints()]

    assert found == []


def test_modules_stay_short():
    """A module of more than 500 lines holds two nouns."""
    found = [f"{source.path}: {source.lines} lines" for source in sources() if source.lines > MOST_LINES]

    assert found == []


def test_functions_stay_short(record_property):
    """Half of all functions are ten lines or fewer."""
    lengths = [length for source in sources() for length in source.function_lengths()]
    median = statistics.median(lengths)
    record_property("median_function_lines", median)

    assert median <= MEDIAN_FUNCTION_LINES


# -- the checker itself -------------------------------------------------------------------------------------------

FOREIGN_WRITES = {
    "setattr": "import torch\nsetattr(torch, 'x', 1)",
    "setattr of a parameter": "def f(owner): setattr(owner, 'x', 1)",
    "delattr": "def f(owner): delattr(owner, 'x')",
    "attribute of a module": "import torch\ntorch.x = 1",
    "attribute below a module": "import torch\ntorch.cuda.is_available = lambda: True",
    "attribute, unpacked": "import torch\n(torch.x, y) = 1, 2",
    "attribute, annotated": "import torch\ntorch.x: int = 1",
    "attribute, augmented": "import torch\ntorch.x += 1",
    "attribute, loop target": "import torch\nfor torch.x in (): pass",
    "attribute, context": "import torch\ndef f(c):\n    with c as torch.x: pass",
    "attribute, deleted": "import torch\ndel torch.x",
    "renamed module": "import torch.cuda as c\nc.x = 1",
    "imported class": "from torch import Tensor\nTensor.cuda = None",
    "late import": "def f():\n    import torch\n    torch.x = 1",
    "name bound to a module": "import torch\ncuda = torch.cuda\ncuda.x = 1",
    "module by name": "import sys\nm = sys.modules['torch']\nm.x = 1",
    "module by import_module": "import importlib\nm = importlib.import_module('torch')\nm.x = 1",
    "environment": "import os\nos.environ['A'] = 'b'",
    "environment, deleted": "import os\ndel os.environ['A']",
    "environment, imported name": "from os import environ\nenviron['A'] = 'b'",
    "environment, method": "import os\nos.environ.update(A='b')",
    "environment, setdefault": "import os\nos.environ.setdefault('A', 'b')",
    "putenv": "import os\nos.putenv('A', 'b')",
    "unsetenv": "from os import unsetenv\nunsetenv('A')",
    "sys.modules": "import sys\nsys.modules['torch.flagos'] = object()",
    "sys.modules, method": "import sys\nsys.modules.pop('torch')",
    "sys.meta_path": "import sys\nsys.meta_path.insert(0, object())",
    "table of a module": "import torch\ntorch.serialization._registry['x'] = 1",
    "namespace": "def f(owner): owner.__dict__['x'] = 1",
    "namespace through vars": "def f(owner): vars(owner)['x'] = 1",
    "namespace, method": "def f(owner): owner.__dict__.update(x=1)",
    "object.__setattr__": "def f(owner): object.__setattr__(owner, 'x', 1)",
    "type.__setattr__": "def f(owner): type.__setattr__(owner, 'x', 1)",
    "type.__delattr__": "def f(owner): type.__delattr__(owner, 'x')",
}

OWN_WRITES = {
    "own attribute": "class A:\n    def f(self): self.x = 1",
    "frozen record": "class A:\n    def __post_init__(self): object.__setattr__(self, 'x', 1)",
    "own namespace": "class A:\n    def f(self): self.__dict__['x'] = 1",
    "own setattr": "class A:\n    def f(self): setattr(self, 'x', 1)",
    "local table": "def f():\n    table = {}\n    table['x'] = 1\n    table.update(y=2)",
    "copy of the environment": "import os\nenv = dict(os.environ)\nenv['A'] = 'b'",
    "reading": "import os, torch\nx = os.environ['A'], torch.cuda.is_available, getattr(torch, 'x')",
    "attribute of a made object": "import types\nm = types.ModuleType('m')\nm.x = 1",
    "namespace of a made module": "from types import ModuleType\nm = ModuleType('m')\nm.__dict__['x'] = 1",
    "namespace of a thread's own": "import threading\nl = threading.local()\nl.__dict__.setdefault('x', 1)",
    "namespace of an instance": "class A: pass\na = A()\na.__dict__.update(x=1)\nsetattr(a, 'y', 1)",
}


@pytest.mark.parametrize("text", FOREIGN_WRITES.values(), ids=FOREIGN_WRITES.keys())
def test_a_planted_foreign_write_is_found(text):
    """Each way of writing on a foreign object is seen."""
    assert len(list(Source(text).foreign_writes())) == 1


@pytest.mark.parametrize("text", OWN_WRITES.values(), ids=OWN_WRITES.keys())
def test_a_write_on_ones_own_is_no_finding(text):
    """What a module makes itself it may write."""
    assert [str(item) for item in Source(text).foreign_writes()] == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.library.Library('aten', 'IMPL')",
        "from torch.library import Library\nLibrary('aten', 'IMPL')",
        "from torch import library as lib\nlib.Library('aten', 'IMPL')",
        "import torch\nwith torch.library._scoped_library('aten', 'IMPL') as lib: pass",
    ],
)
def test_a_planted_library_is_found(text):
    """A Library is seen under every name that it can be reached by."""
    assert len(list(Source(text).library_makers())) == 1


@pytest.mark.parametrize(
    ("text", "at_module_level"),
    [
        ("import torch.cuda", True),
        ("from torch import nn", True),
        ("class A:\n    import torch", True),
        ("def f():\n    import torch", False),
        ("def f():\n    from torch.library import Library", False),
        ("import importlib\ntorch = importlib.import_module('torch')", True),
        ("def f():\n    return __import__('torch')", False),
        ("try:\n    import torch\nexcept ImportError:\n    pass", True),
    ],
)
def test_a_planted_import_of_torch_is_found(text, at_module_level):
    """Imports are seen at every depth, with the time at which they run."""
    found = [item for item in Source(text).imports() if item.module.partition(".")[0] == "torch"]

    assert [item.at_module_level for item in found] == [at_module_level]


def test_an_import_for_type_checkers_is_no_finding():
    """What stands under TYPE_CHECKING never runs."""
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\nelse:\n    import json"

    assert [item.module for item in Source(text).imports()] == ["typing.TYPE_CHECKING", "json"]


def test_a_planted_print_is_found():
    """The built-in print is seen, a method of that name is not."""
    assert [item.line for item in Source("print(1)\nconsole.print(2)").prints()] == [1]


def test_function_lengths_count_every_line():
    """A function's length is from its def to its last line, methods and inner functions included."""
    assert sorted(Source("def f():\n    def g():\n        return 1\n    return g").function_lengths()) == [2, 4]
