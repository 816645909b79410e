"""D-Robotics BPUs, an accelerator of a system on chip that torch has no device for."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Lack, Platform, ProbeSpec

DEVICE_NODES: Final = "Torch-FL, csrc/runtime/accelerator/bpu/device.cc; /dev/bpu from a third party"
LIBRARIES: Final = "Torch-FL, CMakeLists.txt"
TORCH_FL: Final = "Torch-FL, accelerator bpu"

LIBRARY_NAMES: Final = ("libhbucp.so", "/usr/hobot/lib/libhbucp.so", "libbpu.so", "/usr/hobot/lib/libbpu.so")
PROBES: Final = (
    ProbeSpec("bpu_device_nodes", "path", ("/dev/bpu_core[0-9]*", "/dev/bpu"), DEVICE_NODES, presence=True),
    ProbeSpec("bpu_runtime", "library", LIBRARY_NAMES, LIBRARIES, required=True),
)
NO_DEVICE: Final = "torch has no device for it"
NO_TRITON: Final = "there is no Triton for it"
INT8: Final = "the chip computes int8"
OF_A_DEVICE: Final = ("eager", "autograd", "amp.fp16", "complex", "rng", "streams", "memory_stats")

CAPABILITIES: Final = declared(
    TORCH_FL,
    unavailable={
        **dict.fromkeys(OF_A_DEVICE, NO_DEVICE),
        **dict.fromkeys(("amp.bf16", "fp64", "int64"), INT8),
        "triton": NO_TRITON,
        "flaggems": "FlagGems has no vendor for it",
        "distributed": "there is one device, and no backend for it",
    },
    unknown={"compile": "the vendor's own compile backend, torch.compile(backend='bpu')"},
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe D-Robotics BPUs."""
    return Platform(
        name="bpu",
        title="D-Robotics BPU",
        kind="no_device",
        device_type=None,
        probes=PROBES,
        capabilities=CAPABILITIES,
        rank=-10,
        runtime_only=True,
        sdk_variables=("HOBOT_LIB_DIR", "HOBOT_INCLUDE_DIR"),
        sdk_paths=("/usr/hobot",),
        notes=("models are compiled ahead and run as int8",),
        names_source=TORCH_FL,
        lacks=(
            Lack("pci", "it is part of a system on chip"),
            Lack("gems_vendor", "FlagGems has no vendor for it"),
            Lack("dist_backend", "there is one device"),
            Lack("visible_devices", "there is one device"),
            Lack("container_devices", "there is one device"),
            Lack("torch_package", NO_DEVICE),
            Lack("torch_attribute", NO_DEVICE),
            Lack("flagcx_device", NO_DEVICE),
            Lack("triton_target", NO_TRITON),
            Lack("triton_backends", NO_TRITON),
            Lack("triton_extras", NO_TRITON),
            Lack("command", "the vendor ships none"),
        ),
    )
