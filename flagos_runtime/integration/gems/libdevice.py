"""Host versions of the functions of CUDA's math library, by symbol, for Triton's interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_PREFIX: Final = "__nv_"

#: Named alike in torch. The symbols are those of CUDA's libdevice, which end in `f` for float32.
_SAME: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2",
    "nextafter", "pow", "round", "rsqrt", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip

_OTHER: Final[dict[str, Callable[..., torch.Tensor]]] = {
    "abs": torch.abs,
    "llabs": torch.abs,
    "fabs": torch.abs,
    "finite": torch.isfinite,
    "isfinited": torch.isfinite,
    "isinf": torch.isinf,
    "isinfd": torch.isinf,
    "isnan": torch.isnan,
    "isnand": torch.isnan,
    "signbitd": torch.signbit,
    "rint": torch.round,
    "nearbyint": torch.round,
    "round": lambda x: torch.copysign(torch.floor(torch.abs(x) + 0.5), x),
    "cbrt": lambda x: torch.copysign(torch.abs(x).pow(1 / 3), x),
    "exp10": lambda x: torch.pow(10.0, x),
    "fma": torch.addcmul,
    "powi": torch.pow,
    "tgamma": lambda x: torch.exp(torch.lgamma(x)),
    "j0": torch.special.bessel_j0,
    "j1": torch.special.bessel_j1,
    "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1,
    "cyl_bessel_i0": torch.special.i0,
    "cyl_bessel_i1": torch.special.i1,
    "erfcx": torch.special.erfcx,
    "normcdf": torch.special.ndtr,
    "normcdfinv": torch.special.ndtri,
    "saturate": lambda x: torch.clamp(torch.nan_to_num(x, nan=0.0), 0, 1),
    "div_rn": torch.div,
    "div_rz": torch.div,
    "add_rn": torch.add,
    "mul_rn": torch.mul,
    "sub_rn": torch.sub,
    "sqrt_rn": torch.sqrt,
    "rcp_rn": torch.reciprocal,
    "rsqrt_rn": torch.rsqrt,
}

_TABLE: Final = {name: getattr(torch, name) for name in _SAME} | _OTHER


def host_function(symbol: str) -> Callable[..., torch.Tensor]:
    """Return the function that *symbol* (``__nv_powf``) names.

    Raises:
        NotImplementedError: there is no host version of it.
    """
    name = symbol.removeprefix(_PREFIX)
    # `fast_` differs by accuracy alone; `d` and `f` before a rounding mode and `f` at the end name the type
    plain = name.removeprefix("fast_")
    for spelling in (plain, plain.removesuffix("f"), plain[1:] if plain[:1] in {"d", "f"} else plain):
        if spelling in _TABLE:
            return _TABLE[spelling]
    raise NotImplementedError(f"'{symbol}' has no host version for Triton's interpreter")


def evaluate(symbol: str, arguments: list[Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Return the value of *symbol* on NumPy arrays as an array of *dtype*."""
    values = [torch.from_numpy(np.ascontiguousarray(item)).reshape(np.shape(item)) for item in arguments]
    return np.asarray(host_function(symbol)(*values).numpy()).astype(dtype)
