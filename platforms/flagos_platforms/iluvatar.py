"""Iluvatar CoreX GPUs, whose torch presents them as CUDA."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl, unstated
from flagos_runtime.records import Capability, Lack, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS build-infra runtime/; gpustack-runtime 0.2.6 cdi"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids and management libraries"
TORCH_BUILD: Final = "FlagGems main ed2508bc, backends.yaml: torch 2.7.1 and 2.10, +corex"
FLAGGEMS: Final = "FlagGems main ed2508bc, _iluvatar/__init__.py; FlagGems 5.0.2 device.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

PROBES: Final = (
    ProbeSpec("iluvatar_device_nodes", "path", ("/dev/iluvatar[0-9]*",), DEVICE_NODES, presence=True),
    ProbeSpec("iluvatar_pci", "pci", ("0x1e3e",), GPUSTACK, presence=True),
    ProbeSpec("iluvatar_control_node", "path", ("/dev/itrctl",), DEVICE_NODES),
    ProbeSpec("iluvatar_driver", "library", ("libixml.so",), GPUSTACK, required=True),
    ProbeSpec("iluvatar_torch_build", "torch", ("version.__version__=*+corex*",), TORCH_BUILD, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "int64"),
    unavailable={"fp64": "declared as missing"},
    unknown={
        "triton": "the vendor's build must be installed",
        "flaggems": "flag_gems must be installed, its vendor is iluvatar",
    },
    also=(Capability("distributed", "unknown", "declared", "nccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Iluvatar GPUs."""
    return Platform(
        name="iluvatar",
        title="Iluvatar GPU with CoreX",
        kind="cuda_shaped",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        gems_vendor="iluvatar",
        dist_backend="nccl",
        visible_devices=("ILUVATAR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        rank=10,
        torch_attribute="corex",
        flagcx_device="cuda",
        triton_extras=("cuda", "corex"),
        container_devices=("IX_VISIBLE_DEVICES",),
        command="ixsmi",
        sdk_variables=("COREX_ROOT",),
        sdk_paths=("/usr/local/corex",),
        notes=("compiling wants CPATH=/usr/local/cuda-10.2/include",),
        names_source=NAMES,
        lacks=(
            Lack("torch_package", "torch itself is the vendor's build"),
            *unstated("triton_target", "triton_backends"),
        ),
    )
