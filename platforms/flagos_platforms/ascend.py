"""Huawei Ascend NPUs, a PrivateUse1 device of the vendor's torch plugin."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Platform, ProbeSpec

DEVICE_NODES: Final = "FlagOS build-infra runtime/; FlagGems weekly workflow 910B; gpustack-runtime 0.2.6; Torch-FL"
GPUSTACK: Final = "gpustack-runtime 0.2.6, PCI vendor ids; the vendor's network cards share the id"
LIBRARIES: Final = "Torch-FL; gpustack-runtime 0.2.6"
FLAGGEMS: Final = "FlagGems main ed2508bc, _ascend/__init__.py; FlagGems 5.0.2 device.py"
SGLANG_FL: Final = "sglang-plugin-FL 4eb5b2a, platform.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; gpustack-runtime 0.2.6; build-infra"

NODES: Final = ("/dev/davinci[0-9]*", "/dev/davinci_manager*", "/dev/devmm_svm", "/dev/hisi_hdc")
PROBES: Final = (
    ProbeSpec("ascend_device_nodes", "path", NODES, DEVICE_NODES, presence=True),
    ProbeSpec("ascend_pci", "pci", ("0x19e5",), GPUSTACK, presence=True),
    ProbeSpec("ascend_runtime", "library", ("libascendcl.so",), LIBRARIES, required=True),
    ProbeSpec("ascend_torch_package", "module", ("torch_npu",), FLAGGEMS, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16", "int64"),
    unavailable={"fp64": "fp64 is stored, but matrices of it are not multiplied"},
    unknown={
        "triton": "the vendor's build must be installed, its backend is ascend",
        "flaggems": "flag_gems must be installed, its vendor is ascend",
    },
    also=(Capability("distributed", "unknown", "declared", "hccl, where the vendor's torch has it", SGLANG_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Huawei Ascend NPUs."""
    return Platform(
        name="ascend",
        title="Huawei Ascend NPU with CANN",
        kind="private_use1",
        device_type="npu",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_npu",
        gems_vendor="ascend",
        dist_backend="hccl",
        visible_devices=("ASCEND_RT_VISIBLE_DEVICES", "NPU_VISIBLE_DEVICES"),
        rank=10,
        torch_attribute="npu",
        flagcx_device="cann",
        triton_target="npu",
        triton_backends=("ascend",),
        triton_extras=("ascend", "cann"),
        container_devices=("ASCEND_VISIBLE_DEVICES",),
        command="npu-smi info",
        sdk_variables=("ASCEND_HOME", "ASCEND_HOME_PATH"),
        sdk_paths=("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/driver"),
        notes=("set_env.sh of the toolkit puts the libraries where the loader looks",),
        names_source=NAMES,
    )
