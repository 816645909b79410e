"""T-Head PPUs, whose torch presents them as CUDA and which even nvidia-smi lists."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Lack, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS dev-container start.sh; gpustack-runtime 0.2.6 cdi/thead.py; Torch-FL"
GPUSTACK: Final = "gpustack-runtime 0.2.6; other devices of the company share the PCI vendor id"
TORCH_BUILD: Final = "FlagGems main ed2508bc, backends.yaml: torch 2.9.0+ppu2.0.0.oe"
FLAGGEMS: Final = "FlagGems main ed2508bc, defaults of _thead/__init__.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py; Torch-FL"
NAMES: Final = "FlagGems main ed2508bc, tools/; FlagGems pull request 3595; Torch-FL; gpustack-runtime 0.2.6"

NODES: Final = ("/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu[0-9]*")
# not PPU_SDK: the vendor's images set it in every shell, on a machine without a card too
PROBES: Final = (
    ProbeSpec("ppu_device_nodes", "path", NODES, DEVICE_NODES, presence=True),
    ProbeSpec("ppu_pci", "pci", ("0x1ded",), GPUSTACK, presence=True),
    ProbeSpec("ppu_driver", "library", ("libhgml.so",), GPUSTACK, required=True),
    ProbeSpec("ppu_torch_build", "torch", ("version.__version__=*+ppu*",), TORCH_BUILD, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "fp64", "int64"),
    unknown={
        "triton": "the vendor's build must be installed",
        "flaggems": "flag_gems must be installed, its vendor is thead",
    },
    also=(Capability("distributed", "unknown", "declared", "nccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe T-Head PPUs."""
    return Platform(
        name="ppu",
        title="T-Head PPU",
        kind="cuda_shaped",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        gems_vendor="thead",
        dist_backend="nccl",
        visible_devices=("CUDA_VISIBLE_DEVICES",),
        rank=10,
        flagcx_device="cuda",
        triton_backends=("nvidia", "amd", "ppu"),
        triton_extras=("cuda",),
        container_devices=("NVIDIA_VISIBLE_DEVICES",),
        command="ppu-smi -L",
        sdk_variables=("PPU_SDK", "PPU_HOME"),
        sdk_paths=("/usr/local/PPU_SDK",),
        notes=("nvidia-smi answers as well", "compile in one process: TORCHINDUCTOR_COMPILE_THREADS=1"),
        names_source=NAMES,
        lacks=(
            Lack("torch_package", "torch itself is the vendor's build"),
            Lack("torch_attribute", "FlagGems looks for none"),
            Lack("triton_target", "the target depends on the Triton build"),
        ),
    )
