"""FlagGems and Triton kernels on the flagos device, through Triton's interpreter."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

pytest.importorskip("triton", reason="needs the package triton")
pytest.importorskip("sqlalchemy", reason="needs the packages of the extra `gems`")

SIM = {"FLAGOS_PLATFORM": "sim"}
HEAD = """
import json, os, sys
import torch, flagos_runtime
assert flagos_runtime.status().state == "active", flagos_runtime.status()
"""


@pytest.fixture
def answer(run_python, expect_rc, tmp_path):
    """Run a program on the sim platform, with a folder for modules of its own, and return what it prints last."""

    def run(code: str, *, module: str = "", **env: str):
        # kernels are read from their file
        (tmp_path / "kernels.py").write_text(module, encoding="utf-8")
        found = run_python(HEAD + dedent(code), env={**SIM, "PYTHONPATH": str(tmp_path), **env})
        return json.loads(expect_rc(found).splitlines()[-1])

    return run


KERNELS = """
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

@triton.jit
def window(source, target, rows, columns, SIZE: tl.constexpr):
    row = tl.arange(0, SIZE)[:, None]
    column = tl.arange(0, SIZE)[None, :]
    mask = row < rows and column < columns
    value = tl.load(source + row * columns + column, mask, other=0.0)
    tl.store(target + row * SIZE + column, tl.where(not mask, -1.0, value))

@triton.autotune(configs=[triton.Config({"SIZE": size}) for size in (2, 8, 4)], key=["count"])
@triton.jit
def sizes(target, count, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(target + at, SIZE, mask=at < count)

@triton.jit
def power(x, y, target, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(target + at, libdevice.pow(tl.load(x + at), tl.load(y + at)))

@triton.jit
def foreign(x, target, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(target + at, libdevice.brev(tl.load(x + at)))

@triton.jit
def total(x, y, target, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(target + at, tl.load(x + at) + tl.load(y + at))
"""


def test_masks_of_two_conditions_hold_for_each_element(answer) -> None:
    """``and`` of two masks keeps rows and columns out that either excludes, and ``not`` turns each element around."""
    code = """
    import kernels
    source = torch.arange(6.0, device="cuda").view(2, 3)
    target = torch.zeros(4, 4, device="cuda")
    kernels.window[(1,)](source, target, 2, 3, 4)
    print(json.dumps(target.tolist()))
    """

    rows = [[0.0, 1.0, 2.0, -1.0], [3.0, 4.0, 5.0, -1.0], [-1.0] * 4, [-1.0] * 4]
    assert answer(code, module=KERNELS) == rows


def test_autotuned_kernel_runs_with_its_largest_blocks(answer) -> None:
    """No configuration is timed: the one with the largest blocks is taken."""
    code = """
    import kernels
    target = torch.zeros(8, dtype=torch.int32, device="cuda")
    kernels.sizes[lambda meta: (8 // meta["SIZE"],)](target, 8)
    print(json.dumps(target.tolist()))
    """

    assert answer(code, module=KERNELS) == [8] * 8


def test_function_of_the_math_library_has_its_host_value(answer) -> None:
    """``libdevice.pow`` is NumPy's power, in float32 and in float64."""
    code = """
    import kernels
    found = []
    for dtype in (torch.float32, torch.float64):
        x, y = (torch.tensor(pair, dtype=dtype, device="cuda") for pair in ([2.0, 9.0], [3.0, 0.5]))
        target = torch.zeros(2, dtype=dtype, device="cuda")
        kernels.power[(1,)](x, y, target, 2)
        found.append(target.tolist())
    print(json.dumps(found))
    """

    assert answer(code, module=KERNELS) == [[8.0, 3.0]] * 2


def test_function_without_a_host_version_says_so(answer) -> None:
    """A function of the library that the host cannot evaluate is named by the error."""
    code = """
    import kernels
    x = torch.ones(2, dtype=torch.int32, device="cuda")
    try: kernels.foreign[(1,)](x, x.clone(), 2)
    except Exception as error: print(json.dumps(str(error)))
    """

    assert "'__nv_brev' has no host version for Triton's interpreter" in answer(code, module=KERNELS)


def test_bfloat16_is_computed_by_value_and_rounded_to_nearest(answer) -> None:
    """1 + 2**-7 + 2**-8 in bfloat16 is what torch makes of it on the CPU."""
    code = """
    import kernels
    x, y = torch.full((2,), 1.0078125, dtype=torch.bfloat16), torch.tensor([0.00390625, -3.0], dtype=torch.bfloat16)
    target = torch.zeros(2, dtype=torch.bfloat16, device="cuda")
    kernels.total[(1,)](x.cuda(), y.cuda(), target, 2)
    print(json.dumps([target.tolist(), (x + y).tolist()]))
    """

    found, wanted = answer(code, module=KERNELS)

    assert found == wanted


@pytest.mark.parametrize(
    ("call", "reference"),
    [
        ("ops.add(a, b)", "a + b"),
        ("ops.mm(a, b.t().contiguous())", "a @ b.t()"),
        ("ops.softmax(a, 1)", "a.softmax(1)"),
        ("ops.tanh(a)", "a.tanh()"),
        ("ops.amax(a, [1])", "a.amax(1)"),
        ("ops.flip(a, [0])", "a.flip(0)"),
        ("ops.cumsum(a, 1)", "a.cumsum(1)"),
        ("ops.sort(a)[1]", "a.sort()[1]"),
    ],
)
def test_function_of_flaggems_equals_torchs(answer, call, reference) -> None:
    """Pointwise, matrix, reduction, scan, view and sort kernels of FlagGems give torch's result."""
    code = f"""
    from flag_gems import ops
    torch.manual_seed(0)
    a, b = torch.randn(7, 33, device="cuda"), torch.randn(7, 33, device="cuda")
    print(json.dumps(torch.allclose(({call}).float().cpu(), ({reference}).float().cpu(), atol=1e-5)))
    """

    assert answer(code) is True


def test_flaggems_takes_the_device_for_its_own(answer) -> None:
    """FlagGems calls its device by the canonical name, with the alias of ``cuda`` and without."""
    code = """
    import flag_gems
    x = torch.ones(3, device="flagos")
    print(json.dumps([flag_gems.device, flag_gems.ops.add(x, x).tolist()]))
    """

    assert [answer(code), answer(code, FLAGOS_ALIAS_CUDA="0")] == [["flagos", [2.0] * 3]] * 2


def test_random_numbers_of_flaggems_follow_the_devices_generator(answer) -> None:
    """Seeding and setting the state of the device's generator repeats FlagGems' draws, which move it on.

    The functions that draw have copied the one that asks the generator with ``from ... import``.
    """
    code = """
    class Raising(type(sys)):
        def __getattr__(self, name): raise RuntimeError(name)
    sys.modules["raising"] = Raising("raising")
    from flag_gems import ops
    def draw(): return ops.rand((5,), device="flagos").tolist()
    torch.manual_seed(7); first, second = draw(), draw()
    torch.manual_seed(7); again = draw()
    state = torch.cuda.get_rng_state(); third = draw()
    torch.cuda.set_rng_state(state); fourth = draw()
    generator = torch.Generator("cuda").manual_seed(7)
    print(json.dumps([first == again, first != second, third == fourth, third == second,
                      all(0 <= value < 1 for value in first)]))
    """

    assert answer(code) == [True] * 5


def test_deactivation_leaves_no_patch_in_triton_and_flaggems(answer) -> None:
    """Every place that a patch wrote holds the package's own again, and the environment what it held."""
    code = """
    from flag_gems import ops
    from flagos_runtime.ledger import locate
    x = torch.ones(3, device="flagos"); ops.add(x, x); ops.rand((2,), device="flagos")
    targets = [item.target for item in flagos_runtime.status().decisions
               if item.state == "applied" and item.target.startswith(("triton.", "flag_gems."))]
    written = []
    def holds_ours(target):
        owner, name = locate(target.replace(":", ".").removesuffix(".*"))
        value = vars(owner).get(name) if hasattr(owner, "__dict__") else None
        value = getattr(value, "fget", value)
        code = getattr(value, "__code__", value)
        return "flagos_runtime" in str(getattr(code, "co_filename", type(code).__module__))
    before = [target for target in targets if holds_ours(target)]
    environment = [os.environ.get("TRITON_INTERPRET"), os.environ.get("GEMS_VENDOR")]
    flagos_runtime.deactivate()
    after = [target for target in targets if holds_ours(target)]
    import triton.runtime.interpreter as interpreter
    print(json.dumps([len(before) > 15, after, environment, [os.environ.get("TRITON_INTERPRET"),
                      os.environ.get("GEMS_VENDOR")], hasattr(interpreter.InterpretedFunction, "src")]))
    """

    assert answer(code) == [True, [], ["1", "nvidia"], [None, None], False]


def test_language_is_as_it_was_after_a_kernel(answer) -> None:
    """A kernel that calls device functions leaves no interpreted function behind in ``triton.language``."""
    code = """
    import triton.language as tl
    stock = dict(vars(tl)), dict(vars(tl.core)), dict(vars(tl.tensor))
    from flag_gems import ops
    x = torch.ones(3, device="flagos"); ops.add(x, x); ops.softmax(x, 0)
    now = dict(vars(tl)), dict(vars(tl.core)), dict(vars(tl.tensor))
    changed = [name for old, new in zip(stock, now) for name in old if old[name] is not new.get(name)]
    print(json.dumps(changed))
    """

    assert answer(code) == []


def test_values_that_are_set_stay(answer) -> None:
    """TRITON_INTERPRET and GEMS_VENDOR of the user are not overwritten."""
    code = """
    print(json.dumps([os.environ["TRITON_INTERPRET"], os.environ["GEMS_VENDOR"]]))
    """

    assert answer(code, TRITON_INTERPRET="0", GEMS_VENDOR="metax") == ["0", "metax"]


def test_kernels_run_in_two_threads_at_once(answer) -> None:
    """Two threads that start kernels at the same time get their own results."""
    code = """
    import threading
    from flag_gems import ops
    found = {}
    def work(value):
        x = torch.full((64,), float(value), device="cuda")
        found[value] = all(ops.add(x, x)[0].item() == 2 * value for _ in range(20))
    threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(json.dumps(found))
    """

    assert answer(code) == {"1": True, "2": True}
