"""MetaX GPUs, whose torch presents them as CUDA."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Lack, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS build-infra runtime/; FlagGems weekly workflow C550; Torch-FL set_env_metax.sh; gpustack"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids"
LIBRARIES: Final = "Torch-FL, _metax_compat"
TORCH_BUILD: Final = "FlagGems main ed2508bc, backends.yaml: torch 2.8 and 2.10, +metax3.x"
FLAGGEMS: Final = "FlagGems main ed2508bc, defaults of _metax/__init__.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

PROBES: Final = (
    ProbeSpec("metax_device_nodes", "path", ("/dev/mxcd", "/dev/mxnd", "/dev/mxgd"), DEVICE_NODES, presence=True),
    ProbeSpec("metax_pci", "pci", ("0x9999",), GPUSTACK, presence=True),
    ProbeSpec("metax_runtime", "library", ("libmcruntime.so",), LIBRARIES, required=True),
    ProbeSpec("metax_torch_build", "torch", ("version.__version__=*+metax*",), TORCH_BUILD, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "fp64", "int64"),
    unknown={
        "triton": "the vendor's build must be installed, its backend is metax",
        "flaggems": "flag_gems must be installed, its vendor is metax",
    },
    also=(Capability("distributed", "unknown", "declared", "nccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe MetaX GPUs."""
    return Platform(
        name="metax",
        title="MetaX GPU with MACA",
        kind="cuda_shaped",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        gems_vendor="metax",
        dist_backend="nccl",
        visible_devices=("MACA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        rank=10,
        flagcx_device="cuda",
        triton_target="maca",
        triton_backends=("metax",),
        triton_extras=("cuda",),
        command="mx-smi",
        sdk_variables=("MACA_PATH", "MACA_HOME", "METAX_PATH", "METAX_HOME"),
        sdk_paths=("/opt/maca",),
        notes=("a warp has 64 threads", "C550: 65536 bytes of shared memory"),
        names_source=NAMES,
        lacks=(
            Lack("torch_package", "torch itself is the vendor's build"),
            Lack("torch_attribute", "FlagGems looks for none"),
            Lack("container_devices", "the vendor's own docker command passes the cards"),
        ),
    )
