"""What the alias costs code that does not use it: eager `torch.add` and a compiled call, on CPU tensors.

    python benchmarks/alias_tax.py [ROUNDS]

Prints the time with the alias on over the time of stock torch, for each. The interpreters alternate; each reports the
fastest of many short runs, and the ratio is taken of the medians over the rounds.
"""

from __future__ import annotations

import sys

from paired import alternate, median

CODE = """
import json, timeit
import torch
a, b = torch.ones(8, 8), torch.ones(8, 8)
torch.set_num_threads(1)
compiled = torch.compile(lambda x, y: (x + y).relu() * 2)
compiled(a, b)
best = lambda call, n: min(timeit.repeat(call, number=n, repeat=60)) / n
add, call = best(lambda: torch.add(a, b), 3000), best(lambda: compiled(a, b), 600)
print(json.dumps({"torch.add 8x8": add, "compiled call": call}))
"""
ENVIRONMENTS = {
    "stock": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    "alias": {"FLAGOS_PLATFORM": "sim"},
}


def main() -> None:
    """Measure and print both ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    rows = alternate(CODE, ENVIRONMENTS, rounds)
    for key in rows["stock"][0]:
        stock, alias = median(rows["stock"], key), median(rows["alias"], key)
        print(f"{key:16} stock {stock * 1e9:8.0f} ns   alias {alias * 1e9:8.0f} ns   ratio {alias / stock:.3f}")


if __name__ == "__main__":
    main()
