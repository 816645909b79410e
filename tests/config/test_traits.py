"""What an overload does beside computing, read from its schema."""

from __future__ import annotations

import pytest

from flagos_runtime.config.overloads import installed_traits
from flagos_runtime.config.traits import Traits, traits_of


@pytest.mark.parametrize(
    ("name", "entry", "traits"),
    [
        ("mm", "mm(Tensor self, Tensor mat2) -> Tensor\n", Traits()),
        ("add_.Tensor", "add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n", Traits(mutates=True)),
        ("mm.out", "mm.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n", Traits(mutates=True)),
        ("view", "view(Tensor(a) self, SymInt[] size) -> Tensor(a)\n", Traits(view=True)),
        ("unbind.int", "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]\n", Traits(view=True)),
        ("zeros", "zeros(SymInt[] size, *, Device? device=None) -> Tensor\n", Traits(factory=True)),
        ("empty_like", "empty_like(Tensor self, *, Device? device=None) -> Tensor\n", Traits(factory=True)),
        (
            "uniform_",
            "uniform_(Tensor(a!) self) -> Tensor(a!)\n  tags: nondeterministic_seeded\n",
            Traits(mutates=True, random=True),
        ),
        (
            "uniform.out",
            "uniform_(Tensor(a!) self) -> Tensor(a!)\n  tags: nondeterministic_seeded\n  autogen: uniform.out\n",
            Traits(mutates=True, random=True),
        ),
        ("uniform", "uniform_(Tensor(a!) self) -> Tensor(a!)\n  autogen: uniform, uniform.out\n", Traits()),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_traits_of_a_schema(name, entry, traits):
    """Annotations, arguments and tags tell what an overload does; a generated variant has its parent's tags."""
    assert traits_of(name, entry) == traits


@pytest.mark.parametrize(
    ("name", "traits"),
    [
        ("aten::mm", Traits()),
        ("aten::t", Traits(view=True)),
        ("aten::randn", Traits(factory=True, random=True)),
        ("aten::native_dropout", Traits(random=True)),
        ("aten::copy_", Traits(mutates=True)),
        ("aten::cumsum.out", Traits(mutates=True)),
        ("aten::nothing", None),
    ],
)
def test_traits_of_the_installed_torch(name, traits):
    """The declarations that torch ships are understood."""
    look_up = installed_traits()
    if look_up("aten::mm") is None:
        pytest.skip("torch is not installed")

    assert look_up(name) == traits


@pytest.mark.parametrize(
    ("traits", "cpu", "retry"),
    [
        (Traits(), False, False),
        (Traits(mutates=True), False, True),
        (Traits(view=True), True, True),
        (Traits(factory=True), True, True),
        (Traits(random=True), True, True),
    ],
)
def test_what_traits_rule_out(traits, cpu, retry):
    """Copies on the host cannot be views, choose devices or draw; a second try is for pure functions alone."""
    assert (bool(traits.bars_cpu), bool(traits.bars_retry)) == (cpu, retry)
