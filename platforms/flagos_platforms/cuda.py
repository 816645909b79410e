"""NVIDIA GPUs with a genuine CUDA build of torch, where ``cuda`` is itself."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import hookimpl
from flagos_runtime.records import Capability, Lack, Platform, ProbeSpec

CONTAINER_SCRIPT: Final = "a third party's docker script; FlagOS passes --gpus all instead"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids"
TORCH_FL: Final = "Torch-FL 1adbc974, _cuda_compat"
TORCH_VERSION: Final = "torch/version.py, 'cuda' is None in a build without it"
FLAGGEMS: Final = "FlagGems main ed2508bc, defaults of _nvidia/__init__.py"
TORCH_CUDA: Final = "PyTorch documentation, torch.cuda"
TORCH_AMP: Final = "PyTorch documentation, torch.amp"
TORCH_COMPILE: Final = "PyTorch documentation, torch.compiler"
TORCH_PROFILER: Final = "PyTorch documentation, torch.profiler"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, tools/; Torch-FL; gpustack-runtime 0.2.6"

PROBES: Final = (
    ProbeSpec(
        "cuda_device_nodes",
        "path",
        ("/dev/nvidia[0-9]*", "/dev/nvidiactl"),
        CONTAINER_SCRIPT,
        presence=True,
        verified=False,
    ),
    ProbeSpec("cuda_pci", "pci", ("0x10de",), GPUSTACK, presence=True),
    ProbeSpec("cuda_driver", "library", ("libcuda.so.1",), TORCH_FL, required=True),
    ProbeSpec("cuda_torch_build", "torch", ("version.cuda",), TORCH_VERSION, required=True),
)

CAPABILITIES: Final = (
    Capability("eager", "available", "declared", source=TORCH_CUDA),
    Capability("autograd", "available", "declared", source=TORCH_CUDA),
    Capability("amp.fp16", "available", "declared", source=TORCH_AMP),
    Capability("amp.bf16", "available", "declared", source=FLAGGEMS),
    Capability("fp64", "available", "declared", source=FLAGGEMS),
    Capability("int64", "available", "declared", source=FLAGGEMS),
    Capability("complex", "available", "declared", source=TORCH_CUDA),
    Capability("compile", "unknown", "declared", "needs triton", TORCH_COMPILE),
    Capability("triton", "unknown", "declared", "the vendor's build must be installed", FLAGGEMS),
    Capability("flaggems", "unknown", "declared", "flag_gems must be installed", FLAGGEMS),
    Capability("distributed", "unknown", "declared", "nccl, where torch was built with it", SGLANG_FL),
    Capability("profiler", "unknown", "declared", "needs CUPTI", TORCH_PROFILER),
    Capability("rng", "available", "declared", source=TORCH_CUDA),
    Capability("streams", "available", "declared", source=TORCH_CUDA),
    Capability("memory_stats", "available", "declared", source=TORCH_CUDA),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe NVIDIA GPUs."""
    return Platform(
        name="cuda",
        title="NVIDIA GPU with CUDA",
        kind="cuda",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        gems_vendor="nvidia",
        dist_backend="nccl",
        visible_devices=("CUDA_VISIBLE_DEVICES",),
        flagcx_device="cuda",
        triton_target="cuda",
        triton_backends=("nvidia",),
        triton_extras=("cuda",),
        container_devices=("NVIDIA_VISIBLE_DEVICES",),
        command="nvidia-smi -L",
        sdk_variables=("CUDA_HOME",),
        names_source=NAMES,
        lacks=(
            Lack("torch_package", "torch itself is built with CUDA"),
            Lack("torch_attribute", "FlagGems looks for 'NVIDIA' in the device's name"),
            Lack("sdk_paths", "torch brings its own libraries"),
        ),
    )
