"""A wrong route file: exit status 2, and nothing of torch is patched."""

from __future__ import annotations

import json
from pathlib import Path

FILES = sorted(str(path) for path in (Path(__file__).parents[1] / "config" / "bad_routes").glob("*.yaml"))


def test_every_bad_file_is_refused_before_anything_is_patched(run_python, expect_rc) -> None:
    """`validate` exits with 2 and names the file's line; activation raises ConfigError and torch stays stock."""
    code = f"""
        import json, os
        os.environ["FLAGOS_RUNTIME"] = "off"
        import torch
        import flagos_runtime
        from typer.testing import CliRunner
        from flagos_runtime.cli import app
        os.environ["FLAGOS_RUNTIME"] = "on"
        stock = (torch.device, torch.Tensor.cuda, torch.cuda.is_available)
        bad = []
        for file in {FILES!r}:
            found = CliRunner().invoke(app, ["validate", file])
            if found.exit_code != 2 or os.path.basename(file) not in found.stderr:
                bad.append([file, found.exit_code])
            try:
                flagos_runtime.activate("sim", routes=file)
            except flagos_runtime.ConfigError as exc:
                if not exc.diagnostics:
                    bad.append([file, "no finding"])
            else:
                bad.append([file, "activated"])
            if (torch.device, torch.Tensor.cuda, torch.cuda.is_available) != stock:
                bad.append([file, "patched"])
        print(json.dumps(bad))
    """

    assert json.loads(expect_rc(run_python(code, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))) == []
    assert len(FILES) >= 30
