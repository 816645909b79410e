"""Calls that torch's own operator database leads to, recorded before they run."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from flagos_runtime.integration.survey.calls import HOST, Call, copied

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

#: Dtypes that cases are made in, the most telling first.
DTYPES: Final = (
    torch.float32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.bool,
    torch.complex64,
)
#: Samples of one entry that are looked at, and elements of the largest tensor that a case may have.
SAMPLES: Final = 12
LARGEST: Final = 20_000


def database() -> dict[str, OpInfo]:
    """Return torch's operator database by name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db

    return {_key(item): item for item in op_db}


def _key(item: OpInfo) -> str:
    return f"{item.name}:{item.variant_test_name}" if item.variant_test_name else str(item.name)


class _Recorder(TorchDispatchMode):
    """Notes each call of *wanted* before it runs; of every overload where that is ``None``."""

    def __init__(self, wanted: frozenset[str] | None, most: int) -> None:
        super().__init__()
        self.wanted = wanted
        self.most = most
        self.calls: dict[str, list[Call]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = overload_name(func), kwargs or {}
        if self.wanted is None:
            self.calls.setdefault(name, [])
        elif name in self.wanted and len(self.calls.setdefault(name, [])) < self.most and _is_small((args, kwargs)):
            self.calls[name].append(Call(tuple(args), dict(kwargs)).mapped(lambda item: copied(item, HOST)))
        return func(*args, **kwargs)


def overload_name(op: torch._ops.OpOverload) -> str:
    """Return ``aten::name.overload``, ``aten::name`` where it has no name."""
    name = str(op._schema.name)
    return f"{name}.{op._schema.overload_name}" if op._schema.overload_name else name


def _is_small(tree: Any) -> bool:
    """Tell whether every tensor of *tree* is dense and small enough for a kernel that is interpreted."""
    tensors = [item for item in tree_flatten(tree)[0] if isinstance(item, torch.Tensor)]
    return all(item.layout == torch.strided and item.numel() <= LARGEST for item in tensors)


def reached(item: OpInfo) -> frozenset[str]:
    """Return the overloads that an entry leads to, forward and backward, in the first dtype that it takes."""
    dtype = next((kind for kind in DTYPES if kind in item.supported_dtypes("cpu")), None)
    if dtype is None:
        return frozenset()
    recorder = _Recorder(None, 0)
    _run(item, dtype, recorder, seed=0, most=4)
    return frozenset(name for name in recorder.calls if name.startswith("aten::"))


def calls_of(names: frozenset[str], item: OpInfo, dtype: torch.dtype, *, seed: int, most: int) -> dict[str, list[Call]]:
    """Return calls of the overloads *names* that the samples of an entry lead to, by overload."""
    if dtype not in item.supported_dtypes("cpu"):
        return {}
    recorder = _Recorder(names, most)
    _run(item, dtype, recorder, seed=seed, most=SAMPLES)
    return recorder.calls


def direct_calls(
    op: torch._ops.OpOverload, item: OpInfo, dtype: torch.dtype, *, seed: int, most: int
) -> Iterator[Call]:
    """Yield the samples of an entry as they are, for *op* whose arguments are the entry's own."""
    if dtype not in item.supported_dtypes("cpu"):
        return
    for sample in itertools.islice(_samples(item, dtype, seed, with_grad=False), most):
        if _is_small((sample.input, sample.args, sample.kwargs)):
            yield _bound(op, (sample.input, *sample.args), sample.kwargs).mapped(lambda tensor: copied(tensor, HOST))


def _bound(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the call with a list where Python's API takes one number for each dimension."""
    arguments = {argument.name: argument for argument in op._schema.arguments}
    positional = (_listed(argument, value) for argument, value in zip(op._schema.arguments, args, strict=False))
    named = {name: _listed(arguments[name], value) if name in arguments else value for name, value in kwargs.items()}
    return Call((*positional, *args[len(arguments) :]), named)


def _listed(argument: Any, value: Any) -> Any:
    wants_list = str(argument.type) in {"List[int]", "List[SymInt]"}
    return [value] * (argument.N or 1) if wants_list and isinstance(value, int) else value


def _run(item: OpInfo, dtype: torch.dtype, recorder: _Recorder, *, seed: int, most: int) -> None:
    with_grad = item.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    for sample in itertools.islice(_samples(item, dtype, seed, with_grad=with_grad), most):
        # what a sample raises is no fault of the case: another one will do
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _run_sample(item, sample, recorder, with_grad=with_grad)


def _run_sample(item: OpInfo, sample: SampleInput, recorder: _Recorder, *, with_grad: bool) -> None:
    with recorder:
        result = item.op(sample.input, *sample.args, **sample.kwargs)
        outputs = [one for one in tree_flatten(result)[0] if isinstance(one, torch.Tensor) and one.requires_grad]
        if with_grad and outputs:
            torch.autograd.backward(outputs, [torch.ones_like(one) for one in outputs])


def _samples(item: OpInfo, dtype: torch.dtype, seed: int, *, with_grad: bool) -> Iterable[SampleInput]:
    torch.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # an iterator of torch's may raise at any step
            return list(itertools.islice(item.sample_inputs("cpu", dtype, requires_grad=with_grad), SAMPLES))
    except Exception:  # noqa: BLE001 - torch's own generator of samples, for a dtype that it says it supports
        return []
