"""What activation does where CUDA is genuine: nothing by default, and an alias alone where the routes ask for it.

    python benchmarks/genuine_cuda.py [default | flagos]

Prints one JSON object of facts; run it once for each word, since a process is activated once. ``flagos`` reads a route
file that enables the alias.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from pathlib import Path

ROUTES = "version: 1\nplatforms:\n  cuda:\n    aliases: [{name: flagos, to: device, enabled: true}]\n"


def main() -> None:
    """Activate as the word says, use the device, and print what was found."""
    word = sys.argv[1] if len(sys.argv) > 1 else "default"
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    if word == "flagos":
        routes = Path(tempfile.mkdtemp()) / "routes.yaml"
        routes.write_text(ROUTES)
        os.environ["FLAGOS_ROUTES"] = str(routes)
    print(json.dumps({"routes": word, **facts("flagos" if word == "flagos" else "cuda")}, indent=2))


def facts(device: str) -> dict[str, object]:
    """Return what activation changed and what the device computes under *device*."""
    import torch

    before = names(torch)
    import flagos_runtime

    changed = sorted(key for key, value in names(torch).items() if before.get(key) is not value)
    status = flagos_runtime.status()
    return {
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(0),
        "state": status.state,
        "platform": status.platform,
        "changed": changed if device == "cuda" else len(changed),
        "privateuse1": torch._C._get_privateuse1_backend_name(),
        "accelerator": str(torch.accelerator.current_accelerator()),
        "device": repr(torch.device(device)),
        "tensors": placed(torch, device),
        "training equals cpu": trained(torch, device),
        "compile equals eager": compiled(torch, device),
        "restored": restored(torch, flagos_runtime, changed, before),
    }


def names(torch) -> dict[str, object]:
    """Return every name that activation could touch, with what stands there."""
    owners = (torch, torch.cuda, torch.Tensor, torch.nn.Module, torch.UntypedStorage, torch.amp)
    return {f"{owner.__name__}.{key}": value for owner in owners for key, value in vars(owner).items()}


def placed(torch, device: str) -> list[str]:
    """Return where tensors land that are asked for by the name *device*."""
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    made = (
        torch.zeros(2, device=device),
        torch.ones(2).to(device),
        torch.nn.Linear(2, 2).to(device).weight,
        torch.load(file, map_location=device),
    )
    return [str(tensor.device) for tensor in made]


def trained(torch, device: str) -> bool:
    """Tell whether three training steps on *device* give the CPU's parameters."""
    results = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
        x = torch.randn(4, 8).to(place)
        net.to(place)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()
        results.append([parameter.detach().cpu() for parameter in net.parameters()])
    return all(torch.allclose(one, other, atol=1e-5) for one, other in zip(*results, strict=True))


def compiled(torch, device: str) -> bool:
    """Tell whether compiled code on *device* gives what eager gives."""
    net = torch.nn.Linear(8, 8).to(device)
    x = torch.randn(4, 8, device=device)
    return bool(torch.allclose(torch.compile(net, fullgraph=True)(x), net(x), atol=1e-5))


def restored(torch, flagos_runtime, changed: list[str], before: dict[str, object]) -> bool:
    """Tell whether deactivation puts back every name that activation changed."""
    flagos_runtime.deactivate()
    after = names(torch)
    return all(before.get(key, "absent") is after.get(key, "absent") for key in changed)


if __name__ == "__main__":
    main()
