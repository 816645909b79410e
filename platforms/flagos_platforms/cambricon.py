"""Cambricon MLUs, a PrivateUse1 device of the vendor's torch plugin."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl, unstated
from flagos_runtime.records import Capability, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS build-infra runtime/; FlagGems weekly workflow MLU590; FlagOS dev-container start.sh"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids and management libraries"
FLAGGEMS: Final = "FlagGems main ed2508bc, _cambricon/__init__.py; FlagGems 5.0.2 device.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

NODES: Final = ("/dev/cambricon_dev[0-9]*", "/dev/cambricon_ctl")
LIBRARY_NAMES: Final = ("libcndev.so", "/usr/local/neuware/lib64/libcndev.so")
PROBES: Final = (
    ProbeSpec("cambricon_device_nodes", "path", NODES, DEVICE_NODES, presence=True),
    ProbeSpec("cambricon_pci", "pci", ("0xcabc",), GPUSTACK, presence=True),
    ProbeSpec("cambricon_driver", "library", LIBRARY_NAMES, GPUSTACK, required=True),
    ProbeSpec("cambricon_torch_package", "module", ("torch_mlu",), FLAGGEMS, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "int64"),
    unavailable={"fp64": "declared as missing"},
    unknown={
        "triton": "the vendor's build must be installed, its backend may be called mlu",
        "flaggems": "flag_gems must be installed, its vendor is cambricon",
    },
    also=(Capability("distributed", "unknown", "declared", "cncl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Cambricon MLUs."""
    return Platform(
        name="cambricon",
        title="Cambricon MLU with Neuware",
        kind="private_use1",
        device_type="mlu",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_mlu",
        gems_vendor="cambricon",
        dist_backend="cncl",
        visible_devices=("MLU_VISIBLE_DEVICES",),
        rank=10,
        torch_attribute="mlu",
        flagcx_device="mlu",
        triton_backends=("mlu",),
        triton_extras=("mlu",),
        container_devices=("CAMBRICON_VISIBLE_DEVICES",),
        command="cnmon",
        sdk_variables=("NEUWARE_HOME",),
        sdk_paths=("/usr/local/neuware",),
        names_source=NAMES,
        lacks=unstated("triton_target"),
    )
