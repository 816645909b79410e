"""Kunlunxin XPUs, whose torch presents them as CUDA on an NVIDIA wheel."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl, unstated
from flagos_runtime.records import Capability, Platform, ProbeSpec

# not the command xpu-smi, which is Intel's too
DEVICE_NODES: Final = "FlagGems weekly workflow P800; FlagOS build-infra runtime/"
PCI_IDS: Final = "from memory, no source read"
LIBRARIES: Final = "FlagGems main ed2508bc, backends.yaml: the vendor's libcudart below /usr/local/xcudart"
TORCH_FL: Final = "Torch-FL, module torch_xmlir"
FLAGGEMS: Final = "FlagGems main ed2508bc, _kunlunxin/__init__.py; FlagGems 5.0.2 device.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py; Torch-FL"
NAMES: Final = "FlagGems main ed2508bc, tools/; build-infra"

CUDART: Final = ("/usr/local/xcudart/lib*/libcudart.so*",)
PROBES: Final = (
    ProbeSpec("kunlunxin_device_nodes", "path", ("/dev/xpuctrl", "/dev/xpu[0-9]*"), DEVICE_NODES, presence=True),
    ProbeSpec("kunlunxin_pci", "pci", ("0x1d22",), PCI_IDS, presence=True, verified=False),
    ProbeSpec("kunlunxin_runtime", "path", CUDART, LIBRARIES, required=True),
    ProbeSpec("kunlunxin_torch_package", "module", ("torch_xmlir",), TORCH_FL, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "int64"),
    unavailable={"fp64": "declared as missing"},
    unknown={
        "triton": "the vendor's build must be installed, its backend may be called xpu",
        "flaggems": "flag_gems must be installed, its vendor is kunlunxin",
    },
    also=(Capability("distributed", "unknown", "declared", "nccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Kunlunxin XPUs."""
    return Platform(
        name="kunlunxin",
        title="Kunlunxin XPU",
        kind="cuda_shaped",
        device_type="cuda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_xmlir",
        gems_vendor="kunlunxin",
        dist_backend="nccl",
        visible_devices=("CUDA_VISIBLE_DEVICES",),
        rank=10,
        flagcx_device="cuda",
        triton_backends=("xpu",),
        triton_extras=("xpu",),
        container_devices=("CXPU_VISIBLE_DEVICES",),
        command="xpu-smi",
        sdk_variables=("XPU_HOME", "XPU_ROOT", "XCUDART_ROOT"),
        sdk_paths=("/usr/local/xpu", "/usr/local/xcudart"),
        environment=(("XPU_EVENT_KL3_ENABLE", "1"),),
        notes=("torch reports an NVIDIA card", "XRE 5.37.1 wants XPU_ENABLE_PROFILER_TRACING=1 at import"),
        names_source=NAMES,
        lacks=unstated("torch_attribute", "triton_target"),
    )
