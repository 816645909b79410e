"""Enflame GCUs, a PrivateUse1 device of the vendor's torch plugin."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Capability, Platform, ProbeSpec

DEVICE_NODES: Final = "Torch-FL set_env_gcu.sh; Enflame's container toolkit"
PCI_IDS: Final = "from memory, no source read"
LIBRARIES: Final = "Torch-FL, CMakeLists.txt"
FLAGGEMS: Final = "FlagGems main ed2508bc, _enflame/__init__.py; FlagGems 5.0.2 device.py"
TORCH_FL: Final = "Torch-FL, process_group.py"
NAMES: Final = "FlagGems main ed2508bc, common.py and tools/; Torch-FL; build-infra"

PROBES: Final = (
    ProbeSpec("gcu_device_nodes", "path", ("/dev/gcu[0-9]*",), DEVICE_NODES, presence=True),
    ProbeSpec("gcu_pci", "pci", ("0x1e36",), PCI_IDS, presence=True, verified=False),
    ProbeSpec("gcu_runtime", "library", ("libtopsrt.so",), LIBRARIES, required=True),
    ProbeSpec("gcu_torch_package", "module", ("torch_gcu",), FLAGGEMS, required=True),
)
CAPABILITIES: Final = declared(
    FLAGGEMS,
    available=("amp.bf16",),
    unavailable={"fp64": "declared as missing", "int64": "int64 values come out wrong without an error"},
    unknown={
        "triton": "the vendor's build must be installed, its backend is gcu or enflame",
        "flaggems": "flag_gems must be installed, its vendor is enflame",
    },
    also=(Capability("distributed", "unknown", "declared", "eccl, through FlagCX only", TORCH_FL),),
)


@hookimpl
def flagos_platform() -> Platform:
    """Describe Enflame GCUs."""
    return Platform(
        name="gcu",
        title="Enflame GCU with TopsRider",
        kind="private_use1",
        device_type="gcu",
        probes=PROBES,
        capabilities=CAPABILITIES,
        torch_package="torch_gcu",
        gems_vendor="enflame",
        dist_backend="eccl",
        visible_devices=("TOPS_VISIBLE_DEVICES",),
        rank=10,
        torch_attribute="gcu",
        flagcx_device="flagos",
        triton_target="gcu",
        triton_backends=("gcu", "enflame"),
        triton_extras=("gcu",),
        container_devices=("ENFLAME_VISIBLE_DEVICES", "TENCENT_VISIBLE_DEVICES"),
        command="efsmi -L",
        sdk_variables=("TOPS_HOME", "TRITON_GCU_PATH"),
        sdk_paths=("/opt/tops", "/opt/triton_gcu"),
        environment=(("TORCH_GCU_ENABLE_INT64_AND_UINT64", "1"), ("ENABLE_I64_CHECK", "0")),
        notes=("a grid has at most 65535 blocks in x", "a pointer is valid on the current device only"),
        names_source=NAMES,
    )
