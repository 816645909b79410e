"""What activation adds to `import torch`, and how long the torch-free commands take.

    python benchmarks/activation.py [ROUNDS]

Stock torch, a host without a platform and the sim platform alternate; the added time is the difference of the medians.
Loading the plugins and putting their questions to the host are timed apart.
"""

from __future__ import annotations

import subprocess
import sys
import time

from paired import alternate, median

CODE = """
import json, time
start = time.perf_counter()
import torch
print(json.dumps({"import": time.perf_counter() - start}))
"""
ENVIRONMENTS = {
    "stock": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    "no platform": {},
    "sim": {"FLAGOS_PLATFORM": "sim"},
}
DETECTION = """
import json, os, time
os.environ["FLAGOS_RUNTIME"] = "off"
from importlib.metadata import entry_points
entry_points(group="torch.backends")  # torch has read the distributions' metadata by the time we do
import flagos_runtime
from flagos_runtime.detection import detect
from flagos_runtime.host import LiveHost
from flagos_runtime.plugins import load_plugins
from flagos_runtime.probes import run_probes
start = time.perf_counter()
platforms = load_plugins().platforms
loaded = time.perf_counter()
host = LiveHost()
detect(platforms, {item.name: run_probes(item.probes, host) for item in platforms}, explicit=None)
print(json.dumps({"plugins": loaded - start, "detection": time.perf_counter() - loaded}))
"""
COMMANDS = (["--help"], ["validate", "routes.yaml"], ["schema"])


def main() -> None:
    """Measure and print the added milliseconds and the commands' seconds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    rows = alternate(CODE, ENVIRONMENTS, rounds)
    stock = median(rows["stock"], "import")
    print(f"import torch: {stock * 1e3:.0f} ms")
    for name in ("no platform", "sim"):
        print(f"added by activation, {name:12}: {(median(rows[name], 'import') - stock) * 1e3:6.1f} ms")
    parts = alternate(DETECTION, {"plain host": {}}, rounds)["plain host"]
    for name in ("plugins", "detection"):
        print(f"of that, {name:12}: {median(parts, name) * 1e3:6.1f} ms")
    for command in COMMANDS:
        print(f"flagos-runtime {' '.join(command):22}: {_fastest(command, rounds):.2f} s")


def _fastest(command: list[str], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "flagos_runtime", *command], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
