"""The patches that let FlagGems serve a platform, declared without torch."""

from __future__ import annotations

from typing import Final

from flagos_runtime.records import Platform, StepSpec

_HERE: Final = "flagos_runtime.integration.gems"
_INTERPRETER: Final = "triton.runtime.interpreter"
#: Operations of the interpreter that take bfloat16 for an integer, or a truth value for what was compared.
_BY_VALUE: Final = (
    "binary_op", "unary_op", "ternary_op", "cast_impl", "create_fp_to_fp", "create_dot", "create_fma", "create_rsqrt",
    "create_erf", "get_bf16",
)  # fmt: skip


def _patch(name: str, target: str, installer: str, summary: str) -> StepSpec:
    return StepSpec(f"patch:{name}", "patch", target, f"{_HERE}.{installer}", summary=summary)


_VENDOR: Final = _patch(
    "gems_vendor", "os.environ['GEMS_VENDOR']", "patches:install_vendor", "tell FlagGems whose device it is"
)
_PHILOX: Final = _patch(
    "flaggems.philox",
    "flag_gems.utils.random_utils.philox_backend_seed_offset.__code__",
    "patches:install_philox",
    "FlagGems draws from the device's generator",
)
_INTERPRETED: Final = (
    _patch("triton.interpret", "os.environ['TRITON_INTERPRET']", "interpreter:install_variable", "interpret kernels"),
    _patch(
        "triton.language",
        f"{_INTERPRETER}._patch_lang",
        "interpreter:install_language",
        "device functions need not name the language, which is made interpreted once a kernel",
    ),
    _patch(
        "triton.arguments",
        f"{_INTERPRETER}.GridExecutor._init_args_hst",
        "interpreter:install_arguments",
        "kernels work on the memory of the device, and take FlagGems' wrappers of tensors",
    ),
    _patch(
        "triton.results",
        f"{_INTERPRETER}.GridExecutor._restore_args_dev",
        "interpreter:install_results",
        "nothing is copied back",
    ),
    _patch(
        "triton.order",
        f"{_INTERPRETER}.GridExecutor.__call__",
        "interpreter:install_order",
        "one kernel at a time",
    ),
    _patch(
        "triton.connectives",
        f"{_INTERPRETER}.FunctionRewriter.ast_transformer",
        "interpreter:install_connectives",
        "`and`, `or` and `not` in a kernel hold for each element",
    ),
    _patch(
        "triton.dtype",
        "triton.language.core.dtype.value",
        "interpreter:install_dtype",
        "a dtype may be asked for its value, as a constant of the compiler may",
    ),
    *(
        _patch(
            f"triton.values.{name}",
            f"{_INTERPRETER}.InterpreterBuilder.{name}",
            "interpreter:install_values",
            "bfloat16 is computed by value, and comparisons give truth values",
        )
        for name in _BY_VALUE
    ),
    _patch(
        "triton.truth",
        f"{_INTERPRETER}._implicit_cvt",
        "interpreter:install_truth",
        "a truth value among the arguments of a kernel is one",
    ),
    _patch(
        "triton.libdevice",
        f"{_INTERPRETER}.InterpreterBuilder.create_extern_elementwise",
        "interpreter:install_libdevice",
        "functions of CUDA's math library have host versions",
    ),
    _patch(
        "triton.extern",
        "triton.language.extra.cuda.libdevice.*",
        "interpreter:install_extern",
        "functions of CUDA's math library are callable in interpreted kernels",
    ),
    _patch(
        "triton.generic_extern",
        "triton.language.extra.libdevice.*",
        "interpreter:install_generic_extern",
        "and so are those of the library that stands for each vendor's",
    ),
    *(
        _patch(
            f"triton.{name}",
            f"{_INTERPRETER}.InterpretedFunction.{name}",
            "interpreter:install_source",
            "what a compiled function says of itself",
        )
        for name in ("src", "cache_key", "__globals__")
    ),
    _patch(
        "triton.autotune",
        "triton.runtime.autotuner:Autotuner.run",
        "interpreter:install_tuner",
        "the configuration with the largest blocks is taken",
    ),
    _patch(
        "flaggems.device",
        "flag_gems.runtime.device.name",
        "patches:install_device",
        "FlagGems' device is the canonical one",
    ),
    _patch(
        "flaggems.tuner",
        "flag_gems.utils.libentry:LibTuner.run",
        "interpreter:install_tuner",
        "the configuration with the largest blocks is taken",
    ),
    _patch(
        "flaggems.tuner_key",
        "flag_gems.utils.libentry.LibTuner.cache_key",
        "patches:install_tuner_key",
        "a tuner finds its interpreted function",
    ),
    _patch(
        "flaggems.entry",
        "flag_gems.utils.libentry.LibEntry.__init__",
        "patches:install_entry",
        "an entry takes interpreted functions",
    ),
    _patch(
        "flaggems.entry_run",
        "flag_gems.utils.libentry.LibEntry.run",
        "patches:install_entry_run",
        "an entry runs interpreted functions",
    ),
    _patch(
        "flaggems.pointwise",
        "flag_gems.utils.pointwise_dynamic.JITFunction",
        "patches:install_pointwise",
        "the generator of pointwise kernels takes interpreted functions",
    ),
)

#: Every patch of this runtime that a route file may switch.
PATCHES: Final = (_VENDOR, _PHILOX, *_INTERPRETED)


def patches_for(platform: Platform) -> tuple[StepSpec, ...]:
    """Return the patches that *platform* takes: CUDA itself needs none, and host memory needs the interpreter."""
    if platform.kind == "sim":
        return PATCHES
    if platform.gems_vendor is None or platform.kind == "cuda":
        return ()
    return (_VENDOR,) if platform.kind == "cuda_shaped" else (_VENDOR, _PHILOX)
