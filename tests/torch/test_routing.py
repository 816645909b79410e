"""Operator routes in force: which kernel serves a call, what is counted, and what follows a failure."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent, indent

import pytest

BUNDLED = (Path(__file__).parents[2] / "routes.yaml").read_text(encoding="utf-8")
NO_ROUTES = "      routes: {}\n"

#: A package in FlagGems' place: a table of functions, one of each kind of fault.
FAKE_GEMS = '''
import torch

__version__ = "9.9"
device = "cuda"
vendor_name = "nvidia"
tried = []

def add(a, b, *, alpha=1):
    return torch.ops.aten.sub.Tensor(a, torch.ops.aten.mul.Tensor(b, -alpha))

def mul(a, b):
    """Written with the operator that it serves."""
    return torch.mul(a, b)

def exp(a):
    tried.append("exp")
    raise NotImplementedError("no kernel for this shape")

def mm(a, b):
    raise RuntimeError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit")

def newer(a):
    raise AssertionError("its condition does not hold")

def silu_and_scale(a):
    return a * torch.sigmoid(a)

_FULL_CONFIG = (
    ("add.Tensor", add),
    ("mul.Tensor", mul),
    ("exp", exp),
    ("mm", mm),
    ("sin", newer, lambda: False),
    ("silu", silu_and_scale),
    ("linear", silu_and_scale),
)
'''


@pytest.fixture
def answer(run_python, expect_rc, tmp_path):
    """Run a program under routes for sim, with a package in FlagGems' place, and return what it prints last."""
    (tmp_path / "flag_gems").mkdir()
    (tmp_path / "flag_gems" / "__init__.py").write_text(FAKE_GEMS, encoding="utf-8")

    def run(routes: str, code: str, *, before: str = "", **env: str):
        head, _, tail = BUNDLED.partition("  sim:\n")
        lines = f"      routes:\n{indent(dedent(routes).strip(), ' ' * 8)}\n"
        file = tmp_path / "routes.yaml"
        file.write_text(f"{head}  sim:\n{tail.replace(NO_ROUTES, lines, 1)}", encoding="utf-8")
        setting = {"FLAGOS_PLATFORM": "sim", "FLAGOS_ROUTES": str(file), "PYTHONPATH": str(tmp_path), **env}
        program = f"""
import json
import torch
{dedent(before)}
import flagos_runtime

def served(name):
    return next((dict(item.served) for item in flagos_runtime.status().operators if item.overload == name), {{}})

def failures(name):
    found = (item for item in flagos_runtime.status().operators if item.overload == name)
    return [[item.backend, item.reason, item.then] for calls in found for item in calls.failures]

assert flagos_runtime.status().state == "active", flagos_runtime.status()
{dedent(code)}
"""
        result = run_python(program, env=setting)
        return json.loads(expect_rc(result).splitlines()[-1]), result.stderr

    return run


def test_exact_overload_is_served_by_the_function_of_its_table(answer) -> None:
    """A route to flaggems runs that package's function for the overload, right in value, and counts it."""
    code = """
    a = torch.arange(4.0, device="cuda")
    print(json.dumps([torch.add(a, a, alpha=3).tolist(), served("aten::add.Tensor")]))
    """

    found, _ = answer("aten::add.Tensor: flaggems", code)

    assert found == [[0.0, 4.0, 8.0, 12.0], {"flaggems": 1}]


def test_other_overloads_of_the_operator_stay(answer) -> None:
    """A route of ``add.Tensor`` says nothing about ``add_.Tensor``."""
    code = """
    a = torch.ones(2, device="cuda"); a.add_(a)
    print(json.dumps([a.tolist(), served("aten::add.Tensor"), served("aten::add_.Tensor")]))
    """

    found, _ = answer("aten::add.Tensor: flaggems", code)

    assert found == [[2.0, 2.0], {}, {}]


def test_package_is_imported_by_the_first_call_that_needs_it(answer) -> None:
    """Activation with a route to flaggems does not import it; a call of another overload does not either."""
    code = """
    import sys
    steps = ["flag_gems" in sys.modules]
    a = torch.ones(2, device="cuda"); torch.sub(a, a); steps.append("flag_gems" in sys.modules)
    torch.add(a, a); steps.append("flag_gems" in sys.modules)
    print(json.dumps(steps))
    """

    found, _ = answer("aten::add.Tensor: flaggems", code)

    assert found == [False, False, True]


def test_kernel_written_with_its_own_operator_ends(answer) -> None:
    """A kernel that calls the operator that it serves reaches the kernel that was there before."""
    code = """
    a = torch.full((2,), 3.0, device="cuda")
    print(json.dumps([(a * a).tolist(), served("aten::mul.Tensor")]))
    """

    found, _ = answer("aten::mul.Tensor: flaggems", code)

    assert found == [[9.0, 9.0], {"flaggems": 1, "prior": 1}]


def test_complex_calls_go_past_triton_kernels(answer) -> None:
    """FlagGems' kernels have no complex type, so a call with a complex operand or number takes the prior kernel."""
    code = """
    a = torch.ones(2, device="cuda")
    b = torch.ones(2, dtype=torch.complex64, device="cuda")
    print(json.dumps([str((b + b).dtype), (a + a).tolist(), served("aten::add.Tensor")]))
    """

    found, _ = answer("aten::add.Tensor: flaggems", code)

    assert found == ["torch.complex64", [2.0, 2.0], {"flaggems": 1, "prior": 1}]


def test_dtype_guard_leaves_other_dtypes_to_the_kernel_that_was_there(answer) -> None:
    """A route limited to float16 serves float16; int64, and float32 with a number, keep the prior kernel's answer."""
    code = """
    half = torch.ones(2, device="cuda", dtype=torch.float16)
    whole = torch.arange(3, device="cuda")
    kinds = [str((half + half).dtype), (whole + whole).tolist(), str((whole + 1.5).dtype), str((half + 1).dtype)]
    print(json.dumps([kinds, served("aten::add.Tensor")]))
    """

    found, _ = answer("aten::add.Tensor: {use: [flaggems], guard: {dtypes: [float16]}}", code)

    assert found == [["torch.float16", [0, 2, 4], "torch.float32", "torch.float16"], {"flaggems": 2, "prior": 2}]


@pytest.mark.parametrize(
    ("guard", "served"),
    [
        ("{min_ndim: 2}", [False, True, True, True]),
        ("{max_ndim: 1}", [True, False, False, False]),
        ("{min_numel: 6}", [False, True, True, True]),
        ("{max_numel: 5}", [True, False, False, False]),
        ("{contiguous: true}", [True, True, False, True]),
        ("{contiguous: false}", [False, False, True, False]),
        ("{min_ndim: 2, contiguous: true}", [False, True, False, True]),
    ],
)
def test_guard_looks_at_shape_and_layout(answer, guard, served) -> None:
    """A 4-vector, a 2x3 matrix, its transpose and a matrix plus a row are told apart by each kind of guard."""
    code = """
    vector, matrix = torch.ones(4, device="cuda"), torch.ones(2, 3, device="cuda")
    row = torch.ones(3, device="cuda")
    found = []
    for one, other in ((vector, vector), (matrix, matrix), (matrix.t(), matrix.t()), (matrix, row)):
        before = served("aten::add.Tensor").get("flaggems", 0)
        torch.add(one, other)
        found.append(served("aten::add.Tensor").get("flaggems", 0) > before)
    print(json.dumps(found))
    """

    found, _ = answer(f"aten::add.Tensor: {{use: [flaggems], guard: {guard}}}", code)

    assert found == served


def test_failing_kernel_is_tried_once_and_the_cpu_serves_since(answer) -> None:
    """With ``on_failure: cpu`` NotImplementedError brings the CPU kernel for this call and the following, counted."""
    code = """
    import flag_gems
    a = torch.arange(3.0, device="cuda")
    values = [torch.exp(a) for _ in range(3)]
    print(json.dumps([[torch.allclose(v.cpu(), a.cpu().exp()) and v.is_cuda for v in values], flag_gems.tried,
                      served("aten::exp"), failures("aten::exp")]))
    """

    found, _ = answer("aten::exp: {use: [flaggems], on_failure: cpu}", code)

    failure = ["flaggems", "NotImplementedError: no kernel for this shape", "served by cpu since"]
    assert found == [[True] * 3, ["exp"], {"cpu": 3}, [failure]]


def test_next_backend_serves_since(answer) -> None:
    """With ``on_failure: next`` the following backend of the route takes over."""
    code = """
    a = torch.arange(3.0, device="cuda"); torch.exp(a); torch.exp(a)
    print(json.dumps([served("aten::exp"), failures("aten::exp")[0][2]]))
    """

    found, _ = answer("aten::exp: {use: [flaggems, vendor], on_failure: next}", code)

    assert found == [{"vendor": 2}, "served by vendor since"]


def test_failure_is_raised_where_the_route_says_nothing(answer) -> None:
    """Without ``on_failure`` the kernel's own error reaches the caller, every time."""
    code = """
    def call():
        try: torch.exp(torch.ones(2, device="cuda"))
        except NotImplementedError as error: return str(error)
    print(json.dumps([call(), call()]))
    """

    found, _ = answer("aten::exp: flaggems", code)

    assert found == ["no kernel for this shape"] * 2


def test_error_of_the_caller_is_not_swallowed(answer) -> None:
    """Wrong shapes are raised although the route would go on after a failure of the kernel."""
    code = """
    try: torch.mm(torch.ones(2, 3, device="cuda"), torch.ones(2, 3, device="cuda"))
    except RuntimeError as error: print(json.dumps([str(error), failures("aten::mm")]))
    """

    found, _ = answer("aten::mm: {use: [flaggems], on_failure: cpu}", code)

    assert found == ["shapes (2, 3) and (2, 3) do not fit", []]


def test_refused_operator_names_its_route(answer) -> None:
    """A route to ``none`` raises and says which line did that."""
    code = """
    try: torch.tanh(torch.ones(1, device="cuda"))
    except RuntimeError as error: print(json.dumps(str(error)))
    """

    found, _ = answer("aten::tanh: none", code)

    assert "aten::tanh is routed to 'none' by " in found
    assert "routes.yaml:" in found


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("torch.exp(a)", [[1.0, 2.7182817459106445]]),
        ("torch.topk(a, 1)", [[[1.0]], [[1]]]),
        ("torch.cat([a, a])", [[0.0, 1.0], [0.0, 1.0]]),
        ("torch.add(a, a, out=torch.empty(0, device='cuda'))", [[0.0, 2.0]]),
        ("a.add_(1)", [[1.0, 2.0]]),
        ("a.mul_(2.5) is a", True),
    ],
)
def test_cpu_route_keeps_the_contract(answer, expression, wanted) -> None:
    """Results of a CPU route are on the device; lists, several results, ``out=`` and in-place keep their meaning."""
    routes = """
    aten::exp: cpu
    aten::topk: cpu
    aten::cat: cpu
    aten::add.out: cpu
    aten::add_.Tensor: cpu
    aten::mul_.Tensor: cpu
    """
    code = f"""
    a = torch.tensor([[0.0, 1.0]], device="cuda")
    found = {expression}
    items = found if isinstance(found, tuple) else (found,)
    assert all(getattr(item, "is_cuda", True) for item in items), items
    values = [getattr(item, "tolist", lambda: item)() for item in items]
    cpu = sum(calls.served.get("cpu", 0) for calls in flagos_runtime.status().operators)
    print(json.dumps([values if len(values) > 1 else values[0], cpu]))
    """

    found, _ = answer(routes, code)

    assert found == [wanted, 1]


def test_function_whose_condition_does_not_hold_is_left_out(answer) -> None:
    """An entry of the table that is not for this torch counts as unavailable, with its reason, and the rest serves."""
    code = """
    a = torch.zeros(2, device="cuda")
    print(json.dumps([torch.sin(a).tolist(), served("aten::sin"), failures("aten::sin")]))
    """

    found, _ = answer("aten::sin: {use: [flaggems, vendor]}", code)

    reason = "KernelUnavailableError: flag_gems 9.9 has no kernel of aten::sin on this torch"
    assert found == [[0.0, 0.0], {"vendor": 1}, [["flaggems", reason, "left out"]]]


def test_composed_operator_keeps_its_gradient(answer) -> None:
    """An overload that is composed of others is served by its route without gradient, and by its parts with one."""
    code = """
    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    w = torch.full((3, 2), 2.0, device="cuda")
    torch.nn.functional.linear(x, w).sum().backward()
    print(json.dumps([x.grad.tolist(), served("aten::linear")]))
    """

    found, _ = answer("aten::linear: cpu", code)

    assert found == [[[6.0, 6.0], [6.0, 6.0]], {"prior": 1}]


def test_composed_operator_is_served_without_gradient(answer) -> None:
    """Where no gradient is asked for, the route of a composed overload serves it."""
    code = """
    with torch.no_grad():
        y = torch.nn.functional.linear(torch.ones(1, 2, device="cuda"), torch.ones(3, 2, device="cuda"))
    print(json.dumps([y.tolist(), served("aten::linear")]))
    """

    found, _ = answer("aten::linear: cpu", code)

    assert found == [[[2.0, 2.0, 2.0]], {"cpu": 1}]


def test_gradient_of_a_routed_operator_is_autograds(answer) -> None:
    """The derivative of an overload that autograd knows does not depend on what computes its value."""
    code = """
    x = torch.tensor([0.0, 1.0], device="cuda", requires_grad=True)
    torch.nn.functional.silu(x).sum().backward()
    y = x.detach().cpu().requires_grad_(); torch.nn.functional.silu(y).sum().backward()
    print(json.dumps([torch.allclose(x.grad.cpu(), y.grad), served("aten::silu")]))
    """

    found, _ = answer("aten::silu: flaggems", code)

    assert found == [True, {"flaggems": 1}]


def test_log_names_each_overload_once_when_it_is_first_called(answer) -> None:
    """FLAGOS_LOG=dispatch,fallback tells what serves an overload, and what failed, once."""
    code = """
    a = torch.ones(2, device="cuda")
    for _ in range(3): torch.add(a, a); torch.exp(a)
    print(json.dumps(None))
    """

    _, log = answer(
        "aten::add.Tensor: flaggems\naten::exp: {use: [flaggems], on_failure: cpu}",
        code,
        FLAGOS_LOG="dispatch,fallback",
    )

    assert log.count("flagos_runtime.dispatch: aten::add.Tensor -> flaggems: flag_gems.add (") == 1
    assert log.count("flagos_runtime.fallback: aten::exp: flaggems failed (NotImplementedError") == 1
    assert "aten::sub" not in log


def test_log_of_patches_names_each_step(answer) -> None:
    """FLAGOS_LOG=patch tells which step wrote which target."""
    _, log = answer("aten::exp: cpu", "print(json.dumps(None))", FLAGOS_LOG="patch")

    assert "flagos_runtime.patch: alias:cuda/torch.device -> torch.device\n" in log
    assert "flagos_runtime.patch: op:routes -> dispatcher[operators]\n" in log


def test_deactivation_puts_every_kernel_back(answer) -> None:
    """After deactivate() the dispatcher's tables of all overloads are what they were before activation."""
    code = """
    a = torch.ones(2, device="cuda"); torch.add(a, a); torch.nn.functional.linear(a[None], a[None])
    flagos_runtime.deactivate()
    now = dumps()
    print(json.dumps([name for name in stock if stock[name] != now[name]]))
    """
    before = """
    def dumps():
        names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
        return {name: torch._C._dispatch_dump(name) + torch._C._dispatch_dump_table(name) for name in names}
    stock = dumps()
    """

    found, _ = answer(
        "aten::add.Tensor: flaggems\naten::linear: cpu\naten::exp: none",
        code,
        before=before,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )

    assert found == []


def test_route_survives_a_second_activation(answer) -> None:
    """Activating again after deactivation serves by the same route, with counters from nought."""
    code = """
    a = torch.ones(2, device="cuda"); torch.exp(a)
    flagos_runtime.deactivate(); flagos_runtime.activate()
    b = torch.ones(2, device="cuda"); torch.exp(b); torch.exp(b)
    print(json.dumps(served("aten::exp")))
    """

    found, _ = answer("aten::exp: cpu", code)

    assert found == {"cpu": 2}


def test_explanation_of_an_overload_names_kernels_and_calls(answer) -> None:
    """`explain` tells who decided, what is in force, what was there before, how often what served and what failed."""
    code = """
    a = torch.ones(2, device="cuda")
    before = flagos_runtime.explain("aten::exp").lines
    torch.exp(a); torch.exp(a)
    print(json.dumps([before, flagos_runtime.explain("aten::exp.default").lines]))
    """

    (before, after), _ = answer("aten::exp: {use: [flaggems, vendor], on_failure: next}", code)

    assert "kernel in force: loaded by the first call" in before
    assert "calls: none yet" in before
    assert "prior kernel: flagos[aten::exp]" in after
    assert "calls: 2 by vendor" in after
    assert "'flaggems' failed: NotImplementedError: no kernel for this shape; served by vendor since" in after
    assert any(line.startswith("kernel in force: vendor: ") for line in after)
    assert any(line.startswith("'flaggems' serves it: ") and "routes.yaml:" in line for line in after)
