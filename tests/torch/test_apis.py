"""The table of `torch.cuda` is complete, and what it says is what happens."""

from __future__ import annotations

import json

from flagos_runtime.integration.aliases.apis import api_table

SIM = {"FLAGOS_PLATFORM": "sim"}


def test_every_public_name_has_a_row(run_python, expect_rc) -> None:
    """No public name of torch.cuda is missing, and none has two rows."""
    code = (
        "import json, torch; print(json.dumps(['torch.cuda.' + n for n in dir(torch.cuda) if not n.startswith('_')]))"
    )
    public = json.loads(expect_rc(run_python(code)))
    names = [row.name for row in api_table()]

    assert sorted(set(public) - set(names)) == []
    assert len(names) == len(set(names))
    assert len(public) > 140


def test_same_means_the_device_modules_own(run_python, expect_rc) -> None:
    """A name that is `same` holds the device module's object by identity."""
    code = """
        import flagos_runtime, torch
        from flagos_runtime.integration.aliases.apis import SAME
        print([n for n in SAME if getattr(torch.cuda, n) is not getattr(torch.flagos, n)])
    """

    assert expect_rc(run_python(code, env=SIM)).strip() == "[]"


def test_refused_names_say_which_api_and_platform(run_python, expect_rc) -> None:
    """Calling a refused name raises the one error that names API and platform; a class stays a class."""
    code = """
        import json
        import torch
        kinds = {n: isinstance(getattr(torch.cuda, n), type) for n in dir(torch.cuda)}
        import flagos_runtime
        from flagos_runtime.integration.aliases.apis import REFUSED
        bad = []
        for name in REFUSED:
            value = getattr(torch.cuda, name)
            try:
                value()
            except flagos_runtime.RefusedError as exc:
                text = str(exc)
                if f"torch.cuda.{name}" not in text or "'sim'" not in text or isinstance(value, type) != kinds[name]:
                    bad.append([name, text])
            else:
                bad.append([name, "no error"])
        print(json.dumps(bad))
    """

    assert json.loads(expect_rc(run_python(code, env={**SIM, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))) == []


def test_no_call_says_not_compiled_with_cuda(run_python, expect_rc) -> None:
    """Every public name that can be called is called, and none asks for a CUDA build."""
    code = """
        import json, warnings
        import flagos_runtime, torch
        warnings.simplefilter("ignore")
        x = torch.ones(2, device="cuda")
        some = (None, 0, "cuda", 1.0, x, torch.cuda.Stream(), [x.cpu()], "name")
        calls, bad = 0, []
        skipped = {"torch", "os", "threading", "traceback", "warnings", "importlib", "platform"}
        for name in dir(torch.cuda):
            value = getattr(torch.cuda, name)
            if name.startswith("_") or name in skipped or not callable(value):
                continue
            for args in ((), *((arg,) for arg in some), *((arg, arg) for arg in some)):
                calls += 1
                try:
                    value(*args)
                except Exception as exc:
                    if "not compiled with CUDA" in str(exc) or "dummy base class" in str(exc):
                        bad.append([name, str(exc)])
        print(json.dumps([calls, bad]))
    """

    calls, bad = json.loads(expect_rc(run_python(code, env=SIM)).splitlines()[-1])

    assert bad == []
    assert calls > 1000


def test_unknown_names_of_a_newer_torch_are_refused(run_python, expect_rc) -> None:
    """A function that torch.cuda has and the table does not know refuses, rather than asking for CUDA."""
    code = """
        import torch
        torch.cuda.brand_new = lambda: torch.cuda._lazy_init()
        import flagos_runtime
        try:
            torch.cuda.brand_new()
        except flagos_runtime.RefusedError as exc:
            print(exc)
    """

    out = expect_rc(run_python(code, env={**SIM, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))

    assert "torch.cuda.brand_new" in out
