"""Sunrise PTPUs, a PrivateUse1 device whose nodes nobody has published."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl, unstated
from flagos_runtime.records import Lack, Platform, ProbeSpec

BUILD_INFRA: Final = "FlagOS build-infra runtime/ tangrt1.2.0, which passes all of /dev"
FLAGGEMS: Final = "FlagGems main ed2508bc, _sunrise/__init__.py; FlagGems 5.0.2 device.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; build-infra"

PROBES: Final = (
    ProbeSpec("sunrise_sdk", "path", ("/usr/local/tangrt",), BUILD_INFRA, presence=True),
    ProbeSpec("sunrise_torch_package", "module", ("torch_ptpu",), FLAGGEMS, presence=True, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    unavailable={"amp.bf16": "declared as missing", "fp64": "declared as missing", "int64": "declared as missing"},
    unknown={
        "triton": "the vendor's build must be installed",
        "flaggems": "flag_gems must be installed, its vendor is sunrise",
    },
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Sunrise PTPUs."""
    return Platform(
        name="sunrise",
        title="Sunrise PTPU with TangRT",
        kind="private_use1",
        device_type="ptpu",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_ptpu",
        gems_vendor="sunrise",
        visible_devices=("TANG_VISIBLE_DEVICES",),
        rank=-10,
        presence_evidence="declared",
        torch_attribute="ptpu",
        triton_extras=("tang", "ptpu"),
        command="pt_smi",
        sdk_paths=("/usr/local/tangrt",),
        names_source=NAMES,
        lacks=(
            Lack("driver", "the name of its library is not published"),
            *unstated("pci", "dist_backend", "flagcx_device", "triton_target", "triton_backends"),
            *unstated("container_devices", "sdk_variables"),
        ),
    )
