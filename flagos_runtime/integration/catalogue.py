"""Every step that this runtime is able to install, declared without torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from flagos_runtime.integration.aliases.apis import EMULATED, REFUSED, SAME, SAME_PRIVATE, api_table
from flagos_runtime.integration.gems.steps import PATCHES, patches_for
from flagos_runtime.records import StepSpec

__all__ = ["PATCHES", "PROBES", "alias_counts", "alias_of", "catalogue", "patches_for"]

_HERE: Final = "flagos_runtime.integration"

#: Live probes that a route may redirect.
PROBES: Final = ("torch.cuda.is_available",)

_MODULE: Final = "device:torch.flagos"


def _device(
    what: str, target: str, installer: str, *after: str, reversible: bool = True, summary: str = ""
) -> StepSpec:
    return StepSpec(
        f"device:{what}", "device", target, f"{_HERE}.device.{installer}", after, reversible=reversible, summary=summary
    )


_ACCELERATOR: Final = (
    "empty_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
)  # fmt: skip

_DEVICE: Final = (
    _device(
        "privateuse1",
        "torch._C._get_privateuse1_backend_name",
        "provider:install_name",
        reversible=False,
        summary="name the dispatch key PrivateUse1 after the device",
    ),
    _device(
        "guard",
        "c10.DeviceGuardImpl[PrivateUse1]",
        "provider:install_guard",
        "device:privateuse1",
        reversible=False,
        summary="tell torch's C++ side how many devices there are and which is current",
    ),
    _device("kernels", "dispatcher[PrivateUse1]", "provider:install_kernels", "device:guard"),
    _device("lazy-bits", "dispatcher[Conjugate]", "provider:install_lazy_bits"),
    _device("autocast", "dispatcher[AutocastPrivateUse1]", "provider:install_autocast"),
    _device("torch.flagos", "torch.flagos", "provider:install_module", "device:guard"),
    *(
        _device(
            f"torch.accelerator.{name}",
            f"torch.accelerator.{name}",
            "provider:install_accelerator",
            "device:torch.flagos",
        )
        for name in _ACCELERATOR
    ),
    _device("torch.Tensor.flagos", "torch.Tensor.flagos", "methods:install_mover", "device:privateuse1"),
    _device("torch.Tensor.is_flagos", "torch.Tensor.is_flagos", "methods:install_is", "device:privateuse1"),
    _device("torch.nn.Module.flagos", "torch.nn.Module.flagos", "methods:install_module_mover", "device:privateuse1"),
    _device("torch.nn.Module._apply", "torch.nn.Module._apply", "methods:install_apply"),
    _device("torch.Generator", "torch.Generator", "methods:install_generator", "device:guard"),
    _device("torch.UntypedStorage.__new__", "torch.UntypedStorage.__new__", "methods:install_storage", "device:guard"),
)

_PROBE: Final = tuple(
    StepSpec(f"probe:{target}", "probe", target, f"{_HERE}.aliases.namespace:install_is_available", (_MODULE,))
    for target in PROBES
)


def _cuda(target: str, installer: str, *after: str, summary: str = "") -> StepSpec:
    return StepSpec(
        f"alias:cuda/{target}", "alias", target, f"{_HERE}.aliases.{installer}", after, alias="cuda", summary=summary
    )


_DEVICE_ARGUMENT: Final = (
    "torch.Tensor.to", "torch.Tensor.new_tensor", "torch.Tensor.pin_memory", "torch.Tensor.is_pinned", "torch.tensor",
    "torch.as_tensor", "torch.asarray", "torch.sparse_coo_tensor", "torch.sparse_compressed_tensor",
    "torch.sparse_csr_tensor", "torch.sparse_csc_tensor", "torch.sparse_bsr_tensor", "torch.sparse_bsc_tensor",
    "torch.nested.nested_tensor", "torch.nested.as_nested_tensor", "torch.UntypedStorage.to",
)  # fmt: skip
_DEVICE_TYPE_ARGUMENT: Final = (
    "torch.amp.autocast_mode.autocast.__init__", "torch.amp.grad_scaler.GradScaler.__init__", "torch.amp.custom_fwd",
    "torch.amp.custom_bwd", "torch.amp.is_autocast_available", "torch.get_autocast_dtype", "torch.set_autocast_dtype",
)  # fmt: skip
_TENSOR_TYPES: Final = tuple(name for name in EMULATED if name.endswith("Tensor"))

_COMM: Final = ("broadcast", "broadcast_coalesced", "scatter", "gather")

_NAMESPACE: Final = (
    *(_cuda(f"torch.cuda.{name}", "namespace:install_same", _MODULE) for name in (*SAME, *SAME_PRIVATE)),
    *(_cuda(f"torch.cuda.{name}", "namespace:install_refusal", _MODULE) for name in REFUSED),
    *(_cuda(f"torch.cuda.{name}", "namespace:install_tensor_type", _MODULE) for name in _TENSOR_TYPES),
    _cuda("torch.cuda.nvtx", "namespace:install_nvtx"),
    _cuda("torch.cuda.*", "namespace:install_unknown", summary="refuse the names of a newer torch"),
)

_CUDA: Final = (
    _cuda("torch.device", "devices:install", "device:privateuse1"),
    _cuda("torch.Generator", "devices:install_generator", "device:torch.Generator"),
    _cuda("dispatcher[CUDA]", "factories:install", "device:guard", summary="factories called with a CUDA device"),
    *(_cuda(target, "tensors:install_device_argument") for target in _DEVICE_ARGUMENT),
    _cuda("torch.Tensor.cuda", "tensors:install_cuda"),
    _cuda("torch.Tensor.type", "tensors:install_type"),
    _cuda("torch.Tensor.is_cuda", "tensors:install_is_cuda"),
    _cuda("torch.UntypedStorage.is_cuda", "tensors:install_is_cuda"),
    _cuda("torch.UntypedStorage.cuda", "tensors:install_storage_cuda"),
    *(_cuda(target, "amp:install_device_type") for target in _DEVICE_TYPE_ARGUMENT),
    _cuda("torch.is_autocast_enabled", "amp:install_flag"),
    _cuda("torch.set_autocast_enabled", "amp:install_flag"),
    _cuda("torch.get_autocast_gpu_dtype", "amp:install_gpu_dtype"),
    _cuda("torch.cuda.amp.custom_fwd", "amp:install_cuda_custom"),
    _cuda("torch.cuda.amp.custom_bwd", "amp:install_cuda_custom"),
    _cuda("torch.serialization._package_registry", "serialization:install"),
    _cuda("torch.library.Library.impl", "libraries:install", "device:guard"),
    *(_cuda(f"torch.nn.parallel.comm.{name}", "comm:install") for name in _COMM),
    *_NAMESPACE,
)

_COMPILE: Final = (
    StepSpec(
        "compile:inductor",
        "compile",
        "torch._inductor.compile_fx._compile_fx_inner",
        f"{_HERE}.compile:install_inductor",
        summary="graphs of the device are compiled for the host",
    ),
    StepSpec(
        "compile:streams",
        "compile",
        "torch._dynamo.variables.streams.SymbolicStreamState",
        f"{_HERE}.device.tracing:install_streams",
        summary="compiled code looks the current stream up where it asks for it",
    ),
    StepSpec(
        "compile:cuda/is_cuda",
        "compile",
        "torch._dynamo.variables.tensor.TensorVariable.method_attr_is_cuda",
        f"{_HERE}.compile:install_is_cuda",
        alias="cuda",
        summary="is_cuda of a traced tensor",
    ),
)


# Torch's parser knows no device type "flagos" where the device has another name, so the alias is read by whatever takes
# a device: besides what the alias "cuda" needs, the factories.
_FACTORIES: Final = (
    "torch.arange", "torch.bartlett_window", "torch.blackman_window", "torch.empty", "torch.empty_like",
    "torch.empty_permuted", "torch.empty_quantized", "torch.empty_strided", "torch.eye", "torch.fft.fftfreq",
    "torch.fft.rfftfreq", "torch.full", "torch.full_like", "torch.hamming_window", "torch.hann_window",
    "torch.kaiser_window", "torch.linspace", "torch.logspace", "torch.normal", "torch.ones", "torch.ones_like",
    "torch.rand", "torch.rand_like", "torch.randint", "torch.randint_like", "torch.randn", "torch.randn_like",
    "torch.randperm", "torch.range", "torch.scalar_tensor", "torch.tril_indices", "torch.triu_indices", "torch.zeros",
    "torch.zeros_like", "torch.Tensor.new_empty", "torch.Tensor.new_empty_strided", "torch.Tensor.new_full",
    "torch.Tensor.new_ones", "torch.Tensor.new_zeros", "torch.nn.Module.to", "torch.get_device_module",
)  # fmt: skip


def _flagos(target: str, installer: str) -> StepSpec:
    """Return the step of the alias "flagos" for *target*, after the one of "cuda" where that writes the same."""
    after = (f"alias:cuda/{target}",) if target in _CUDA_TARGETS else ()
    return StepSpec(f"alias:flagos/{target}", "alias", target, f"{_HERE}.{installer}", after, alias="flagos")


_CUDA_TARGETS: Final = frozenset(step.target for step in _CUDA)

_FLAGOS: Final = (
    _flagos("torch.flagos", "vendor:install_module"),
    _flagos("torch.device", "aliases.devices:install"),
    _flagos("torch.Generator", "aliases.devices:install_generator"),
    *(_flagos(target, "aliases.tensors:install_device_argument") for target in (*_DEVICE_ARGUMENT, *_FACTORIES)),
    *(_flagos(target, "aliases.amp:install_device_type") for target in _DEVICE_TYPE_ARGUMENT),
    _flagos("torch.is_autocast_enabled", "aliases.amp:install_flag"),
    _flagos("torch.set_autocast_enabled", "aliases.amp:install_flag"),
    _flagos("torch.serialization._package_registry", "aliases.serialization:install"),
)

_OPERATORS: Final = StepSpec(
    "op:routes",
    "op",
    "dispatcher[operators]",
    f"{_HERE}.routing.router:install",
    ("device:kernels",),
    summary="operators are served by the backends that routes name",
)


def catalogue(patches: Iterable[StepSpec] = ()) -> tuple[StepSpec, ...]:
    """Return all steps in order of declaration, with the *patches* that the platform takes."""
    steps = (*_DEVICE, *_PROBE, *_CUDA, *_FLAGOS, *_COMPILE, *patches, _OPERATORS)
    return (*steps, *_last(tuple(step.id for step in steps)))


def _last(earlier: tuple[str, ...]) -> tuple[StepSpec, ...]:
    """Return the steps that have to know every replacement, for each alias since either may be off."""
    cuda = (
        _cuda(
            "torch.jit._builtins._builtin_table", "copies:install_builtins", *earlier, summary="TorchScript's builtins"
        ),
        _cuda("torch.utils._device._device_constructors", "copies:install_constructors", *earlier),
        _cuda("sys.modules", "copies:install", *earlier, summary="names that modules copied with `from torch import`"),
    )
    flagos = (
        replace(step, id=f"alias:flagos/{step.target}", alias="flagos", after=(*earlier, step.id)) for step in cuda
    )
    return (*cuda, *flagos)


def alias_of(step_id: str) -> str | None:
    """Return the alias that a step belongs to, by its id."""
    kind, _, rest = step_id.partition(":")
    return rest.partition("/")[0] if kind in {"alias", "compile"} and "/" in rest else None


def alias_counts(name: str) -> Mapping[str, int]:
    """Return how many APIs an alias serves in which way."""
    if name != "cuda":
        return {}
    treatments = [row.treatment for row in api_table()]
    return {treatment: treatments.count(treatment) for treatment in ("same", "emulated", "refused")}
