"""TsingMicro accelerators, a PrivateUse1 device of the vendor's torch plugin."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl, unstated
from flagos_runtime.records import Capability, Platform, ProbeSpec

# not /dev/accel, which is also the folder of the kernel's accelerator subsystem
DEVICE_NODES: Final = "FlagOS build-infra runtime/ tsm260610"
LIBRARIES: Final = "Torch-FL, CMakeLists.txt:208"
FLAGGEMS: Final = "FlagGems main ed2508bc, _tsingmicro/__init__.py; FlagGems 5.0.2 device.py"
BUILD_INFRA: Final = "FlagOS build-infra, images set TORCH_COMPILE_DISABLE=1"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; build-infra"

PROBES: Final = (
    ProbeSpec("tsingmicro_device_nodes", "path", ("/dev/accel_drv_mgr",), DEVICE_NODES, presence=True),
    ProbeSpec("tsingmicro_runtime", "library", ("libhpgr.so",), LIBRARIES, required=True),
    ProbeSpec("tsingmicro_torch_package", "module", ("torch_txda",), FLAGGEMS, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16",),
    unavailable={"fp64": "declared as missing", "int64": "declared as missing"},
    unknown={
        "triton": "the vendor's build must be installed, its backend may be called tsingmicro",
        "flaggems": "flag_gems must be installed, its vendor is tsingmicro",
    },
    also=(
        Capability("compile", "unavailable", "declared", "the vendor's images switch it off", BUILD_INFRA),
        Capability("distributed", "unknown", "declared", "tccl, where the vendor's torch has it", SGLANG_FL),
    ),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe TsingMicro accelerators."""
    return Platform(
        name="tsingmicro",
        title="TsingMicro TX accelerator",
        kind="private_use1",
        device_type="txda",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_txda",
        gems_vendor="tsingmicro",
        dist_backend="tccl",
        visible_devices=("TXDA_VISIBLE_DEVICES",),
        rank=10,
        runtime_only=True,
        torch_attribute="txda",
        triton_backends=("tsingmicro",),
        triton_extras=("txda",),
        container_devices=("TSINGMICRO_VISIBLE_DEVICES",),
        command="tsm_smi",
        sdk_variables=("KUIPER_PATH", "KUIPER_HOME", "TX8_DEPS_ROOT"),
        sdk_paths=("/usr/local/kuiper",),
        environment=(("USE_TORCH_XLA", "0"), ("TORCH_COMPILE_DISABLE", "1")),
        names_source=NAMES,
        lacks=unstated("pci", "flagcx_device", "triton_target"),
    )
