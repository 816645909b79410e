"""Moore Threads GPUs, a PrivateUse1 device of the vendor's torch plugin."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Platform, ProbeSpec

BUILD_INFRA: Final = "FlagOS build-infra runtime/ musa5.2.0; FlagOS dev-container start.sh; Torch-FL set_env_musa.sh"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids"
LIBRARIES: Final = "Torch-FL CMakeLists.txt; torchada"
FLAGGEMS: Final = "FlagGems main ed2508bc, _mthreads/__init__.py; FlagGems 5.0.2 device.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

PROBES: Final = (
    ProbeSpec("musa_device_nodes", "path", ("/dev/mtgpu*",), BUILD_INFRA, presence=True),
    ProbeSpec("musa_pci", "pci", ("0x1ed5",), GPUSTACK, presence=True),
    ProbeSpec("musa_runtime", "library", ("libmusart.so", "libmusart.so.5"), LIBRARIES, required=True),
    ProbeSpec("musa_torch_package", "module", ("torch_musa",), FLAGGEMS, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "int64"),
    unavailable={"fp64": "the vendor's library multiplies no fp64 matrices"},
    unknown={
        "triton": "the vendor's build must be installed, its backend is mthreads",
        "flaggems": "flag_gems must be installed, its vendor is mthreads",
    },
    also=(Capability("distributed", "unknown", "declared", "mccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Moore Threads GPUs."""
    return Platform(
        name="musa",
        title="Moore Threads GPU with MUSA",
        kind="private_use1",
        device_type="musa",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_musa",
        gems_vendor="mthreads",
        dist_backend="mccl",
        visible_devices=("MUSA_VISIBLE_DEVICES",),
        rank=10,
        torch_attribute="musa",
        flagcx_device="musa",
        triton_target="musa",
        triton_backends=("mthreads",),
        triton_extras=("musa",),
        container_devices=("MTHREADS_VISIBLE_DEVICES",),
        command="mthreads-gmi -L",
        sdk_variables=("MUSA_HOME", "MUSA_INSTALL_PATH"),
        sdk_paths=("/usr/local/musa",),
        notes=("torch_musa is imported before triton", "TF32 is on by default"),
        names_source=NAMES,
    )
