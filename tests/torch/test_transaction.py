"""All or nothing, in any order, and back to stock torch by identity."""

from __future__ import annotations

import json

import pytest

SIM = {"FLAGOS_PLATFORM": "sim", "FLAGOS_RUNTIME": "off"}

# `snapshot` takes every name of every torch module and of the classes that steps write on
SNAPSHOT = """
    import json, os, random, re, sys, types
    import torch, torch.utils._device
    import flagos_runtime
    from flagos_runtime import activation
    os.environ["FLAGOS_RUNTIME"] = "on"

    CLASSES = (
        torch.Tensor, torch.nn.Module, torch.UntypedStorage, torch.library.Library,
        torch.amp.autocast_mode.autocast, torch.amp.grad_scaler.GradScaler,
    )

    class Raising(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError(name)

    sys.modules["torch_raising"] = Raising("torch_raising")

    def snapshot():
        found = {}
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] in ("torch", "__main__") and isinstance(module, types.ModuleType):
                found.update({(name, key): value for key, value in vars(module).items()})
        for owner in CLASSES:
            found.update({(owner.__name__, key): value for key, value in vars(owner).items()})
        found["modules"] = tuple(sorted(name for name in sys.modules if name.startswith("torch.")))
        found["packages"] = tuple(torch.serialization._package_registry)
        found["builtins"] = tuple(sorted(torch.jit._builtins._get_builtin_table().items()))
        for op in ("aten::empty.memory_format", "aten::add.Tensor", "aten::_copy_from"):
            found[op] = torch._C._dispatch_dump(op)
        found["environment"] = tuple(sorted(os.environ.items()))
        return found

    NAMES = ("stock", "preview", "step", "index", "order", "broken", "failures", "now", "status", "working", "failing")
    IGNORED = {("__main__", name) for name in NAMES}
    # torch's own note of the name that it cannot take back
    IGNORED.add(("torch.utils.backend_registration", "_privateuse1_backend_name"))
    VALUES = ("modules", "packages", "builtins", "environment")

    def differences(one, other):
        keys = (one.keys() | other.keys()) - IGNORED
        same = lambda a, b: a is b or (isinstance(a, (str, tuple)) and a == b)
        return sorted(str(key) for key in keys if not same(one.get(key, "absent"), other.get(key, "absent")))
"""


def outcome(run_python, expect_rc, code, timeout=280):
    return json.loads(expect_rc(run_python(f"{SNAPSHOT}\n{code}", env=SIM, timeout=timeout)).splitlines()[-1])


def test_hundred_rounds_leave_stock_torch(run_python, expect_rc) -> None:
    """After 100 activations and deactivations every name is the object that it was."""
    code = """
    activation.activate(); flagos_runtime.deactivate()   # the one-way steps happen once
    stock = snapshot()
    for index in range(100):
        activation.activate(); flagos_runtime.deactivate()
    print(json.dumps(differences(stock, snapshot())))
    """

    assert outcome(run_python, expect_rc, code) == []


def test_first_round_leaves_stock_torch_but_for_the_one_way_steps(run_python, expect_rc) -> None:
    """The very first round leaves nothing but what the status names as irreversible."""
    code = """
    stock = snapshot()
    activation.activate()
    status = flagos_runtime.deactivate()
    print(json.dumps([differences(stock, snapshot()), status.state, status.irreversible,
                      [item.code for item in status.diagnostics]]))
    """

    names, state, irreversible, codes = outcome(run_python, expect_rc, code)

    # the name that torch keeps needs a module, which says that the device is off
    assert [name for name in names if "torch.flagos" not in name] == ["('torch', 'flagos')", "modules"]
    assert state == "inactive"
    assert irreversible == [
        "torch._C._get_privateuse1_backend_name",
        "torch.flagos",
        "c10.DeviceGuardImpl[PrivateUse1]",
    ]
    assert codes == ["FR503"] * 3


@pytest.mark.parametrize("when", ["before", "after"], ids=["before it writes", "after it has written"])
def test_each_step_in_turn_may_fail(run_python, expect_rc, when) -> None:
    """Whichever step raises, the error names it and every touched namespace is stock torch again."""
    code = """
    activation.activate(); flagos_runtime.deactivate()
    stock = snapshot()
    preview = activation.preview()
    working = activation._installer
    failures = []

    def failing(bad):
        def installer(step):
            install = working(step)
            def run(context, step):
                if step.id == bad and WHEN == "before":
                    raise OSError("planted")
                install(context, step)
                if step.id == bad:
                    raise OSError("planted")
            return run
        return installer

    for step in preview.plan.steps:
        activation._installer = failing(step.id)
        try:
            activation._install(preview, preview.plan.steps)
        except flagos_runtime.ActivationError as exc:
            if exc.step != step.id or "planted" not in str(exc) or flagos_runtime.status().state != "inactive":
                failures.append(["wrong error", step.id])
        else:
            failures.append(["no error", step.id])
        now = differences(stock, snapshot())
        if now or torch._C._len_torch_function_stack():
            failures.append([step.id, now])
    print(json.dumps([failures, len(preview.plan.steps)]))
    """

    failures, count = outcome(run_python, expect_rc, code.replace("WHEN", repr(when)))

    assert failures == []
    assert count > 150


def test_any_valid_order_ends_in_the_same_state(run_python, expect_rc) -> None:
    """200 random orders of the plan, each kept by every `after`, install the same thing at the same places."""
    code = """
    from flagos_runtime.resolver import valid_order
    rng = random.Random(20261201)
    preview = activation.preview()

    def shape():
        entries = {(re.sub("[0-9]+", "id", e.target), e.by) for e in activation._process.ledger.entries}
        answers = (torch.cuda.is_available(), repr(torch.device("cuda:0")), torch.cuda.current_device(),
                   torch.cuda.current_device is torch.flagos.current_device,
                   str(torch.zeros(1, device="cuda").cuda().device), torch.zeros(1, device="cuda").is_cuda)
        return entries, answers

    orders, shapes = set(), []
    for index in range(200):
        order = valid_order(preview.plan, rng)
        orders.add(tuple(step.id for step in order))
        activation._install(preview, order)
        found = shape()
        if found not in shapes:
            shapes.append(found)
        flagos_runtime.deactivate()
    print(json.dumps([len(orders), len(shapes), shapes[0][1]]))
    """

    orders, shapes, answers = outcome(run_python, expect_rc, code)

    assert (orders, shapes) == (200, 1)
    assert answers == [True, "device(type='flagos', index=0)", 0, True, "flagos:0", True]


def test_nothing_stays_on_the_function_stack(run_python, expect_rc) -> None:
    """No torch-function mode is on the stack while the alias is on."""
    code = """
    activation.activate()
    print(json.dumps([torch._C._len_torch_function_stack(), flagos_runtime.alias_active("cuda")]))
    """

    assert outcome(run_python, expect_rc, code) == [0, True]
