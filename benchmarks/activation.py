"""What activation adds to `import torch`, and how long the torch-free commands take.

    python benchmarks/activation.py [ROUNDS]

Stock torch, a host without a platform and the sim platform alternate; the added time is the difference of the medians.
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
COMMANDS = (["--help"], ["validate", "routes.yaml"], ["schema"])


def main() -> None:
    """Measure and print the added milliseconds and the commands' seconds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    rows = alternate(CODE, ENVIRONMENTS, rounds)
    stock = median(rows["stock"], "import")
    print(f"import torch: {stock * 1e3:.0f} ms")
    for name in ("no platform", "sim"):
        print(f"added by activation, {name:12}: {(median(rows[name], 'import') - stock) * 1e3:6.1f} ms")
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
