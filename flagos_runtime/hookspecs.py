"""Every hook that a platform plugin may implement, and the markers to do it with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pluggy import HookimplMarker, HookspecMarker

from flagos_runtime.records import Platform, StepSpec

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

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


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
        from flagos_runtime.records import Platform, StepSpec


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
