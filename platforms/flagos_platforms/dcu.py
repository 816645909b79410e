"""Hygon DCUs, whose hipified torch presents them as CUDA."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Lack, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS build-infra runtime/; FlagGems weekly workflow BW1000; gpustack; /dev/kfd is AMD's too"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids"
KERNEL_MODULE: Final = "gpustack-runtime 0.2.6, detector of Hygon"
LIBRARIES: Final = "Torch-FL, dcu.yml"
TORCH_BUILD: Final = "FlagGems main ed2508bc, backends.yaml: torch 2.9.0+das.opt1.dtk2604"
FLAGGEMS: Final = "FlagGems main ed2508bc, defaults of _hygon/__init__.py"
TORCH_FL: Final = "Torch-FL, process_group.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

MODULES: Final = ("/sys/module/hycu/version", "/sys/module/hydcu/version")
PROBES: Final = (
    ProbeSpec("dcu_device_nodes", "path", ("/dev/mkfd",), DEVICE_NODES, presence=True),
    ProbeSpec("dcu_pci", "pci", ("0x1d94",), GPUSTACK, presence=True),
    ProbeSpec("dcu_kernel_module", "path", MODULES, KERNEL_MODULE),
    ProbeSpec("dcu_runtime", "library", ("libgalaxyhip.so.5",), LIBRARIES, required=True),
    ProbeSpec("dcu_torch_build", "torch", ("version.__version__=*dtk*",), TORCH_BUILD, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "fp64", "int64"),
    unknown={
        "triton": "the vendor's build must be installed, its backend is hcu",
        "flaggems": "flag_gems must be installed, its vendor is hygon",
    },
    also=(Capability("distributed", "unknown", "declared", "nccl, which is RCCL in the vendor's torch", TORCH_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Hygon DCUs."""
    return Platform(
        name="dcu",
        title="Hygon DCU with DTK",
        kind="cuda_shaped",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        gems_vendor="hygon",
        dist_backend="nccl",
        visible_devices=("HIP_VISIBLE_DEVICES",),
        rank=10,
        torch_attribute="__hcu_version__",
        flagcx_device="cuda",
        triton_target="hip",
        triton_backends=("hcu",),
        triton_extras=("hip",),
        container_devices=("DCU_VISIBLE_DEVICES", "HYGON_VISIBLE_DEVICES"),
        command="hy-smi",
        sdk_variables=("ROCM_PATH", "DTK_ROOT"),
        sdk_paths=("/opt/dtk", "/opt/dtk-26.04", "/opt/hyhal"),
        notes=("torch.version.cuda is None", "the sources disagree on the container variable: both are listed"),
        names_source=NAMES,
        lacks=(Lack("torch_package", "torch itself is the vendor's build"),),
    )
