"""Activation: once, from every trigger, in every order of imports, and never half."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

SIM = {"FLAGOS_PLATFORM": "sim"}
MANUAL = {**SIM, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

COUNT = """
    import json, sys
    from flagos_runtime import activation
    print(json.dumps([activation.status().state, activation._process.activations]))
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import torch",
        "import flagos_runtime",
        "import torch; import flagos_runtime",
        "import flagos_runtime; import torch",
        "from torch import nn; import flagos_runtime; flagos_runtime.activate()",
        "import flagos_runtime; flagos_runtime.activate(); flagos_runtime.activate('sim')",
    ],
)
def test_every_import_order_activates_once(run_python, expect_rc, imports) -> None:
    """Whatever is imported first, there is one activation."""
    out = expect_rc(run_python(f"{imports}\n{dedent(COUNT)}", env=SIM))

    assert json.loads(out) == ["active", 1]


def test_autoload_switched_off_leaves_stock_torch(run_python, expect_rc) -> None:
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0 a bare `import torch` activates nothing."""
    code = "import torch, sys; print('flagos_runtime' in sys.modules, torch.device is torch._C.device)"

    assert expect_rc(run_python(code, env=MANUAL)).split() == ["False", "True"]


@pytest.mark.parametrize(("rule", "state"), [("never", "inactive"), ("accelerator", "active"), ("always", "active")])
def test_routes_rule_the_entry_point(run_python, expect_rc, tmp_path, rule, state) -> None:
    """`autoload:` of the route file decides whether a bare `import torch` activates."""
    routes = tmp_path / "routes.yaml"
    routes.write_text(Path("routes.yaml").read_text().replace("autoload: accelerator", f"autoload: {rule}"))
    code = f"import torch\n{dedent(COUNT)}"
    found = json.loads(expect_rc(run_python(code, env={**SIM, "FLAGOS_ROUTES": str(routes)})))

    assert found[0] == state


def test_plain_host_patches_nothing(run_python, expect_rc) -> None:
    """Where no platform is found the state is inactive, with a reason for each candidate, and torch is stock."""
    code = """
        import json
        import flagos_runtime, torch
        status = flagos_runtime.status()
        print(json.dumps([status.state, status.detection.why, torch.device is torch._C.device, status.decisions]))
    """

    state, why, stock, decisions = json.loads(expect_rc(run_python(code)))

    assert (state, stock, decisions) == ("inactive", True, [])
    assert any(line.startswith("cuda: no card found") for line in why)


def test_plain_host_does_not_import_torch(run_python, expect_rc) -> None:
    """Importing the package where there is nothing to do leaves torch, pydantic and yaml unloaded."""
    code = "import flagos_runtime, sys; print([n for n in ('torch', 'pydantic', 'yaml') if n in sys.modules])"

    assert expect_rc(run_python(code)).strip() == "[]"


def test_switch_disables_everything(run_python, expect_rc) -> None:
    """FLAGOS_RUNTIME=off keeps the import from doing anything, and the status says so."""
    code = """
        import flagos_runtime, torch
        print(flagos_runtime.status().state, torch.device is torch._C.device)
    """

    assert expect_rc(run_python(code, env={**SIM, "FLAGOS_RUNTIME": "off"})).split() == ["disabled", "True"]


OWNED = """
    import torch
    torch.utils.rename_privateuse1_backend("othernpu")
    stock = (torch.device, torch.Tensor.cuda, torch.zeros, torch.cuda.is_available, torch.load, torch.Generator)
    try:
        import flagos_runtime
    except Exception as exc:
        print(type(exc).__name__, "othernpu" in str(exc), exc.step)
    now = (torch.device, torch.Tensor.cuda, torch.zeros, torch.cuda.is_available, torch.load, torch.Generator)
    print(all(a is b for a, b in zip(stock, now)), torch._C._len_torch_function_stack(), hasattr(torch, "flagos"))
    print(torch.zeros(1).device.type, torch.cuda.is_available())
"""


def test_explicit_import_names_the_owner_of_privateuse1(run_python, expect_rc) -> None:
    """An explicitly chosen platform that cannot be activated is an ActivationError with nothing left behind.

    https://github.com/flagos-ai/Torch-FL/issues/11
    """
    error, state, torch_works = expect_rc(run_python(OWNED, env=MANUAL)).splitlines()

    assert error == "ActivationError True device:privateuse1"
    assert state == "True 0 False"
    assert torch_works == "cpu False"


BROKEN_ROUTES = "version: 1\nplatfrom: sim\n"


def test_entry_point_never_breaks_import_torch(run_python, expect_rc, tmp_path) -> None:
    """A wrong route file leaves stock torch and one message that names the cause."""
    (tmp_path / "routes.yaml").write_text(BROKEN_ROUTES)
    result = run_python(
        "import torch; print(torch.ones(2).sum().item(), torch.device is torch._C.device)",
        env={**SIM, "FLAGOS_ROUTES": str(tmp_path / "routes.yaml")},
    )

    assert expect_rc(result).split() == ["2.0", "True"]
    assert "FR103" in result.stderr
    assert result.stderr.count("stays inactive") == 1


def test_explicit_import_raises_on_wrong_routes(run_python, expect_rc, tmp_path) -> None:
    """An explicit import reports a wrong route file as ConfigError."""
    (tmp_path / "routes.yaml").write_text(BROKEN_ROUTES)
    code = """
        try:
            import flagos_runtime
        except Exception as exc:
            print(type(exc).__name__, "FR103" in str(exc))
    """

    out = expect_rc(run_python(code, env={**MANUAL, "FLAGOS_ROUTES": str(tmp_path / "routes.yaml")}))

    assert out.split() == ["ConfigError", "True"]


def test_broken_vendor_plugin_is_named(run_python, expect_rc, tmp_path) -> None:
    """A plugin that fails to import is named with its distribution and cause, and torch works.

    https://github.com/torch-spyre/torch-spyre/pull/3659
    """
    info = tmp_path / "brokenvendor-1.0.dist-info"
    info.mkdir()
    (tmp_path / "brokenvendor.py").write_text("raise OSError('libvendor.so: undefined symbol: vendorInit')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brokenvendor\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[flagos_runtime.platforms]\nbroken = brokenvendor\n")
    for program in ("import flagos_runtime", "import torch"):
        code = f"{program}; import torch; print(torch.zeros(2, device='cuda').device)"
        result = run_python(code, env={**SIM, "PYTHONPATH": str(tmp_path)})

        assert expect_rc(result).strip() == "flagos:0"
        assert "brokenvendor 1.0" in result.stderr
        assert "vendorInit" in result.stderr


def test_concurrent_activation_happens_once(run_python, expect_rc) -> None:
    """Eight threads that import and activate at once see one finished activation.

    https://github.com/pytorch/pytorch/pull/192896
    """
    code = """
        import threading
        import torch
        barrier, bad = threading.Barrier(8), []
        def job():
            try:
                barrier.wait()
                import flagos_runtime
                flagos_runtime.activate()
                made = [torch.zeros(1, device="cuda"), torch.ones(1).cuda(), torch.ones(1).to(torch.device("cuda"))]
                assert torch.cuda.is_available() and {t.device.type for t in made} == {"flagos"}
            except BaseException as exc:
                bad.append(repr(exc))
        threads = [threading.Thread(target=job) for _ in range(8)]
        [t.start() for t in threads]; [t.join(100) for t in threads]
        from flagos_runtime import activation
        print(bad, any(t.is_alive() for t in threads), activation._process.activations)
    """

    assert expect_rc(run_python(code, env=MANUAL)).strip() == "[] False 1"


def test_import_race_of_torch_and_runtime_ends(run_python, expect_rc) -> None:
    """One thread that imports torch and one that imports the runtime do not wait for each other for ever."""
    code = """
        import threading
        barrier = threading.Barrier(2)
        def job(name):
            barrier.wait()
            __import__(name)
        threads = [threading.Thread(target=job, args=(n,)) for n in ("torch", "flagos_runtime")]
        [t.start() for t in threads]; [t.join(60) for t in threads]
        import flagos_runtime
        flagos_runtime.activate()
        print(any(t.is_alive() for t in threads), flagos_runtime.status().state)
    """

    assert expect_rc(run_python(code, env=SIM)).split() == ["False", "active"]


def test_second_activation_changes_nothing(run_python, expect_rc) -> None:
    """Calls, a reload and a second import path leave every object where it is.

    https://github.com/tenstorrent/tt-xla/issues/1159
    """
    code = """
        import importlib, sys, warnings
        import flagos_runtime, torch
        names = lambda: (torch.device, torch.Tensor.cuda, torch.Tensor.to, torch.zeros, torch.cuda.is_available,
                         torch.load)
        before = names()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3): flagos_runtime.activate()
            importlib.reload(flagos_runtime)
            del sys.modules["flagos_runtime"]
            import flagos_runtime as again
            again.activate()
        sys.setrecursionlimit(300)
        print(names() == before, torch.zeros(2, device="cuda").cuda().to("cuda").sum().item())
    """

    assert expect_rc(run_python(code, env=SIM)).split() == ["True", "0.0"]


def test_another_platform_is_refused_while_one_is_active(run_python, expect_rc) -> None:
    """A second activation that asks for something else says what is active and what to do."""
    code = """
        import flagos_runtime
        try:
            flagos_runtime.activate("cuda")
        except flagos_runtime.ActivationError as exc:
            print(exc)
    """

    out = expect_rc(run_python(code, env=SIM))

    assert "'cuda'" in out
    assert "'sim' is active" in out
    assert "deactivate()" in out


@pytest.mark.parametrize("name", ["banana", "simm"])
def test_unknown_platform_lists_the_known_ones(run_python, expect_rc, name) -> None:
    """An unknown FLAGOS_PLATFORM is an error with the list of known names, and nothing is patched."""
    code = """
        import torch
        try:
            import flagos_runtime
        except Exception as exc:
            print(type(exc).__name__, "sim" in str(exc), "cuda" in str(exc), torch.device is torch._C.device)
    """

    out = expect_rc(run_python(code, env={"FLAGOS_PLATFORM": name, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))

    assert out.split() == ["ResolveError", "True", "True", "True"]


def test_another_library_keeps_its_later_patch(run_python, expect_rc) -> None:
    """A foreign wrapper survives deactivation, is named, and no longer redirects through ours.

    https://github.com/open-telemetry/opentelemetry-js/issues/618
    """
    code = """
        import warnings
        import flagos_runtime, torch
        calls, ours = [], torch.Tensor.cuda
        def theirs(self, *args, **kwargs):
            calls.append(1)
            return ours(self, *args, **kwargs)
        torch.Tensor.cuda = theirs
        assert torch.ones(1).cuda().device.type == "flagos" and calls == [1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            status = flagos_runtime.deactivate()
        assert torch.Tensor.cuda is theirs
        assert [item.where for item in status.diagnostics if item.code == "FR601"] == ["torch.Tensor.cuda"]
        assert "torch.Tensor.cuda" in str(caught[0].message) and "theirs" in str(caught[0].message)
        try:
            torch.ones(1).cuda()
        except (AssertionError, RuntimeError) as exc:
            print("stock", "flagos" not in str(exc))
    """

    assert expect_rc(run_python(code, env=SIM)).split() == ["stock", "True"]


def test_names_that_were_held_become_stock_after_deactivation(run_python, expect_rc) -> None:
    """A wrapper or class that somebody kept does what torch does once the runtime is off."""
    code = """
        import flagos_runtime, torch
        device, to, tensor, is_available = torch.device, torch.Tensor.to, torch.tensor, torch.cuda.is_available
        flagos_runtime.deactivate()
        print(device("cuda").type, is_available(), torch.device is torch._C.device, tensor([1.0]).device)
    """

    assert expect_rc(run_python(code, env=SIM)).split() == ["cuda", "False", "True", "cpu"]


def test_torch_trains_on_the_cpu_after_deactivation(run_python, expect_rc) -> None:
    """Autograd and compile work on the CPU with the runtime off again."""
    code = """
        import flagos_runtime, torch
        flagos_runtime.deactivate()
        model = torch.nn.Linear(3, 1)
        torch.compile(model)(torch.ones(2, 3)).sum().backward()
        print(model.weight.grad.tolist(), torch.accelerator.is_available())
    """

    assert expect_rc(run_python(code, env=SIM)).strip() == "[[2.0, 2.0, 2.0]] False"


def test_original_and_asking_torch_give_torchs_own_answer(run_python, expect_rc) -> None:
    """Libraries get the original by name, and inside the block also after an exception; other threads do not."""
    code = """
        import threading
        import flagos_runtime, torch
        seen = []
        try:
            with flagos_runtime.asking_torch():
                seen.append(torch.cuda.is_available())
                thread = threading.Thread(target=lambda: seen.append(torch.cuda.is_available()))
                thread.start(); thread.join()
                raise KeyError
        except KeyError:
            seen.append(torch.cuda.is_available())
        print(seen, flagos_runtime.original("torch.cuda.is_available")(), torch.cuda._flagos_original_is_available())
    """

    assert expect_rc(run_python(code, env=SIM)).strip() == "[False, True, True] False False"


def test_excluded_api_stays_stock(run_python, expect_rc, tmp_path) -> None:
    """A single API that the route file excludes is torch's own, and the rest of the alias is on."""
    routes = tmp_path / "routes.yaml"
    text = Path("routes.yaml").read_text().replace("exclude: []", 'exclude: ["torch.cuda.memory_stats"]')
    routes.write_text(text)
    code = """
        import flagos_runtime, torch
        print(flagos_runtime.original("torch.cuda.memory_stats") is torch.cuda.memory_stats,
              torch.zeros(1).cuda().device)
        print([d.state for d in flagos_runtime.status().decisions if d.target == "torch.cuda.memory_stats"])
    """

    out = expect_rc(run_python(code, env={**SIM, "FLAGOS_ROUTES": str(routes)}))

    assert out.splitlines() == ["True flagos:0", "['disabled']"]


def test_copies_made_before_activation_follow(run_python, expect_rc) -> None:
    """Names copied with `from ... import` before activation mean the same afterwards, and are stock again at the end.

    https://github.com/vllm-project/vllm-ascend/pull/11421
    """
    code = """
        import torch
        from torch import device as Device, zeros, Generator
        from torch.cuda import is_available, manual_seed_all
        from torch.amp import autocast
        def make(n, f=torch.zeros): return f(n, device="cuda")
        import flagos_runtime
        with autocast("cuda", dtype=torch.bfloat16):
            assert torch.is_autocast_enabled("cuda")
        manual_seed_all(1)
        assert is_available() and zeros(1, device="cuda").device.type == make(1).device.type == "flagos"
        assert Device("cuda").type == "flagos" and Generator("cuda").device.type == "flagos"
        flagos_runtime.deactivate()
        print(Device is torch._C.device, Generator is torch._C.Generator, is_available())
    """

    assert expect_rc(run_python(code, env=MANUAL)).split() == ["True", "True", "False"]


def test_spawned_children_get_the_alias(run_python, expect_rc, tmp_path) -> None:
    """A spawned worker that imports torch alone has the alias too.

    https://github.com/MooreThreads/torchada/pull/50
    """
    script = tmp_path / "spawns.py"
    script.write_text(
        dedent("""
        CODE = "__import__('torch').zeros(2, device='cuda').device.type"
        if __name__ == "__main__":
            import flagos_runtime, torch, torch.multiprocessing as mp
            with mp.get_context("spawn").Pool(1) as pool:
                print(pool.apply_async(eval, (CODE,)).get(90))
        """)
    )
    code = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, {str(script)!r}]).returncode)"

    assert expect_rc(run_python(code, env=SIM)).strip() == "flagos"
