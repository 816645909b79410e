"""What an ATen overload does beside computing, read from its schema, and what that rules out."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: An alias annotation of a schema, as in ``Tensor(a)``; that of an argument which is written has an exclamation mark.
SHARED: Final = re.compile(r"\([a-z|]+\)")
DEVICE: Final = re.compile(r"\bDevice\b")
DRAWS: Final = "nondeterministic_seeded"


class Traits(NamedTuple):
    """What an overload does beside computing a result from its tensors.

    Attributes:
        mutates: it writes to one of its arguments.
        view: its result shares the memory of an argument.
        factory: it takes no tensor, or the device on which it makes its result.
        random: it draws from a generator.
    """

    mutates: bool = False
    view: bool = False
    factory: bool = False
    random: bool = False

    @property
    def bars_cpu(self) -> str:
        """Say why copies on the host cannot serve the overload; empty where they can."""
        if self.view:
            return "its result shares memory with an argument, which a copy on the host does not"
        if self.factory:
            return "it makes tensors on a device of its own choice"
        return "it draws from the device's generator" if self.random else ""

    @property
    def bars_retry(self) -> str:
        """Say why another kernel may not take over after a failure; empty where it may."""
        if self.mutates and not self.bars_cpu:
            return "it writes to an argument, which a kernel that failed may have changed"
        return self.bars_cpu


def traits_of(name: str, entry: str) -> Traits:
    """Return the traits of ``name.overload`` from the *entry* that declares it, or that it is generated from."""
    declared, _, rest = entry.partition("(")
    draws = DRAWS in rest
    if declared != name:  # generated: a functional variant, or one that writes to `out`
        return Traits(mutates=name.endswith("out"), random=draws)
    arguments, _, results = rest.partition("\n")[0].rpartition(" -> ")
    return Traits(
        mutates="!" in arguments,
        view=SHARED.search(results) is not None,
        factory="Tensor" not in arguments or DEVICE.search(arguments) is not None,
        random=draws,
    )
