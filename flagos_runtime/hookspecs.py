"""Every hook that a platform plugin may implement, and the markers to do it with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pluggy import HookimplMarker, HookspecMarker

from flagos_runtime.records import Capability, Lack, OpBackend, Platform, StepSpec

#: The project name of pluggy, and the prefix of the entry-point group.
PROJECT: Final = "flagos_runtime"
#: What every hook's name begins with, so that a misspelt one can be told from a helper function.
HOOK_PREFIX: Final = "flagos_"

#: The names that a platform's capabilities may have: the rows of the capability matrix, in its order.
CAPABILITIES: Final = (
    "eager",
    "autograd",
    "amp.fp16",
    "amp.bf16",
    "fp64",
    "int64",
    "complex",
    "compile",
    "triton",
    "flaggems",
    "distributed",
    "profiler",
    "rng",
    "streams",
    "memory_stats",
)

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


def declared(
    source: str,
    *,
    available: Iterable[str] = (),
    unavailable: Mapping[str, str] = NOTHING,
    unknown: Mapping[str, str] = NOTHING,
    also: Iterable[Capability] = (),
) -> tuple[Capability, ...]:
    """Return every capability as *source* declares it, in the order of the matrix.

    Args:
        source: where the facts were read.
        available: what the source states as given.
        unavailable: what it states as missing, with a detail.
        unknown: what depends on something, with what it depends on. Whatever is named nowhere is unknown too.
        also: facts from other sources.
    """
    rows = {name: Capability(name, "unknown", "declared", "no source states it", source) for name in CAPABILITIES}
    rows |= {name: Capability(name, "available", "declared", source=source) for name in available}
    rows |= {name: Capability(name, "unavailable", "declared", why, source) for name, why in unavailable.items()}
    rows |= {name: Capability(name, "unknown", "declared", why, source) for name, why in unknown.items()}
    rows |= {item.name: item for item in also}
    return tuple(rows.values())


def unstated(*names: str) -> tuple[Lack, ...]:
    """Return the lack of each of *names*, which no source states."""
    return tuple(Lack(name, "no source states one") for name in names)


@hookspec
def flagos_platform() -> Platform:
    """Describe the one platform that this plugin supports.

    Called once for each plugin, before torch is touched. It must be implemented, must not import a vendor SDK and must
    not start a device.

    Example, a whole plugin ``acme_flagos.py``::

        from flagos_runtime.hookspecs import hookimpl
        from flagos_runtime.records import Capability, Platform, ProbeSpec

        DRIVER_GUIDE = "Acme driver guide 3.1, chapter 2"


        @hookimpl
        def flagos_platform() -> Platform:
            return Platform(
                name="acme",
                title="Acme A1",
                kind="private_use1",
                device_type="acme",
                torch_package="torch_acme",
                probes=(
                    ProbeSpec("acme_device_nodes", "path", ("/dev/acme[0-9]*",), DRIVER_GUIDE, presence=True),
                    ProbeSpec("acme_driver", "library", ("libacme.so.1",), DRIVER_GUIDE, required=True),
                ),
                capabilities=(Capability("fp64", "unavailable", "declared", source=DRIVER_GUIDE),),
            )

    which its distribution announces in ``pyproject.toml``::

        [project.entry-points."flagos_runtime.platforms"]
        acme = "acme_flagos"

    Returns:
        The platform. Its name is the key in ``routes.yaml`` and must be no other plugin's.
    """
    raise NotImplementedError


@hookspec
def flagos_patches() -> Iterable[StepSpec]:
    """Declare the imperative steps that the platform needs beside its routes.

    May be left out. A step is only a declaration: its installer is imported and called when the plan is carried out.

    Example, a whole plugin ``acme_flagos.py``::

        from collections.abc import Iterator

        from flagos_runtime.hookspecs import hookimpl
        from flagos_runtime.records import Capability, Lack, Platform, StepSpec


        @hookimpl
        def flagos_platform() -> Platform:
            return Platform(name="acme", title="Acme A1", kind="private_use1", device_type="acme")


        @hookimpl
        def flagos_patches() -> Iterator[StepSpec]:
            yield StepSpec(
                id="patch:acme.empty_cache",
                kind="patch",
                target="torch.acme.empty_cache",
                installer="acme_flagos.steps:install_empty_cache",
                summary="wait for the device before memory is given back",
            )

    Returns:
        Steps, as a rule of kind ``patch``. ``routes.yaml`` switches one off by what follows ``patch:`` in its id.
    """
    raise NotImplementedError


@hookspec
def flagos_op_backends() -> Iterable[OpBackend]:
    """Declare sources of kernels that operator routes may name.

    May be left out. A backend is only a declaration: its table is read, without torch, when a route, a list or a
    variable names the backend, and a kernel is asked for when an overload that it serves is first called.

    Example, a whole plugin ``acme_flagos.py``::

        from collections.abc import Callable, Iterator

        from flagos_runtime.hookspecs import hookimpl
        from flagos_runtime.records import BackendTable, OpBackend, Platform


        @hookimpl
        def flagos_platform() -> Platform:
            return Platform(name="acme", title="Acme A1", kind="private_use1", device_type="acme")


        @hookimpl
        def flagos_op_backends() -> Iterator[OpBackend]:
            yield OpBackend("acme_ops", "the hand-written kernel of Acme", "acme_flagos:table", "acme_flagos:kernel")


        def table() -> BackendTable:
            return BackendTable(True, "acme_ops 2.1", frozenset({"aten::mm", "aten::sum.dim_IntList"}), "2.1")


        def kernel(overload: str) -> Callable[..., object]:
            import acme_ops

            return acme_ops.kernels[overload]

    Returns:
        Backends. A name must be no other backend's, and ``kernel`` has to be given; a backend without a ``table`` is
        always there and serves every overload.
    """
    raise NotImplementedError
