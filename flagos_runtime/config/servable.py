"""Whether the backends of a route can serve the overload that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flagos_runtime.config.excerpt import either, shown
from flagos_runtime.config.known import Known
from flagos_runtime.config.overloads import canonical, matched
from flagos_runtime.config.source import Document, Steps
from flagos_runtime.diagnostics import Diagnostic


def unservable(document: Document, known: Known, steps: Steps, value: object) -> Iterator[Diagnostic]:
    """Yield an error for what the route at *steps* asks of its overload in vain.

    A route of ``aten::name.*`` is held to what some overload of it can do: the others are left out when the plan is
    made.
    """
    pattern = canonical(str(steps[-1]))
    places = _places(steps, value)
    yield from _missing_kernel(document, known, pattern, places)
    traits = None if pattern.endswith(".*") else known.traits(pattern)
    if traits is None:
        return
    if traits.bars_cpu and "cpu" in places:
        message = f"'cpu' cannot serve {shown(pattern)}: {traits.bars_cpu}"
        yield document.at_value("FR120", places["cpu"], message, "name other backends only, for instance 'vendor'")
    wish = value.get("on_failure") if isinstance(value, Mapping) else None
    if traits.bars_retry and wish in ("next", "cpu"):
        message = f"'on_failure: {wish}' is not possible for {shown(pattern)}: {traits.bars_retry}"
        yield document.at_value("FR120", (*steps, "on_failure"), message, "leave it out: the error is raised then")


def _places(steps: Steps, value: object) -> Mapping[str, Steps]:
    """Return the backends of a route, long or short, with the place of each."""
    use = value.get("use") if isinstance(value, Mapping) else value
    if isinstance(use, str):
        return {use: steps}
    # a list in the place of a mapping is reported for its shape
    names = enumerate(use) if isinstance(value, Mapping) and isinstance(use, tuple) else ()
    return {name: (*steps, "use", index) for index, name in names if isinstance(name, str)}


def _missing_kernel(
    document: Document, known: Known, pattern: str, places: Mapping[str, Steps]
) -> Iterator[Diagnostic]:
    """Report a kernel that the installed package does not have (any more), where no other backend stands by."""
    backend = next(iter(places), "")
    table = known.tables.get(backend)
    if len(places) != 1 or table is None or not table.available or table.overloads is None:
        return
    packet = pattern.partition(".")[0]
    offered = matched(packet, table.overloads)
    if pattern in table.overloads or (offered and pattern.endswith(".*")):
        return
    message = f"backend {shown(backend)} ({table.reason}) has no kernel of {shown(pattern)}"
    hint = f"of this operator it has {either(offered)}" if offered else "it has none of this operator"
    yield document.at_value("FR119", places[backend], message, f"{hint}; name another backend, or another one after it")
