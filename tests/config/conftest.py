"""What the tests of routes are checked against: a fixed set of names, independent of the installed torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagos_runtime.config.loader import Known, load_routes
from flagos_runtime.config.traits import Traits
from flagos_runtime.records import BackendTable

OVERLOADS = (
    "aten::add.Scalar",
    "aten::add.Tensor",
    "aten::cumsum",
    "aten::cumsum.out",
    "aten::div.Scalar",
    "aten::div.Tensor",
    "aten::div.Tensor_mode",
    "aten::mm",
    "aten::mm.out",
    "aten::mul.Tensor",
    "aten::sort",
    "aten::sort.stable",
    "aten::uniform_",
    "aten::unsqueeze",
    "aten::var",
    "aten::var.correction",
    "aten::zeros",
)
GEMS = frozenset({"aten::add.Tensor", "aten::cumsum", "aten::mm", "aten::sort", "aten::var.correction"})
TRAITS = {
    "aten::cumsum.out": Traits(mutates=True),
    "aten::uniform_": Traits(mutates=True, random=True),
    "aten::unsqueeze": Traits(view=True),
    "aten::zeros": Traits(factory=True),
}


@pytest.fixture(scope="session")
def known():
    """Return names as a machine with four platforms has them."""
    return Known(
        platforms=frozenset({"ascend", "cuda", "musa", "sim"}),
        probes=frozenset({"torch.cuda.is_available", "torch.cuda.device_count"}),
        patches=frozenset({"flaggems.philox"}),
        backends=frozenset({"vendor", "cpu", "none", "flaggems", "flaggems_cpp", "tileops"}),
        overloads=frozenset(OVERLOADS),
        tables={
            "flaggems": BackendTable(True, "flag_gems 5.0.2", GEMS, "5.0.2"),
            "tileops": BackendTable(False, "tileops is not installed"),
        },
        traits=TRAITS.get,
    )


@pytest.fixture
def load(tmp_path, known):
    """Load a route file from its text."""

    def load_text(text, known=known):
        path = Path(tmp_path) / "routes.yaml"
        path.write_text(text, encoding="utf-8")
        return load_routes(path, known)

    return load_text
