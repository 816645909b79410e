"""Compile a linear layer on an accelerator, and take "cuda" for its name.

Usage:
    python examples/reproducer.py            # on the device "flagos"
    python examples/reproducer.py cuda       # the same program in CUDA's words
    python examples/reproducer.py --bare     # no import of the runtime here: torch's autoload has to do it
"""

import argparse

import torch


def main() -> None:
    """Run the model once, compiled, and print what came out."""
    parser = argparse.ArgumentParser(description="compile and run a linear layer on an accelerator")
    parser.add_argument("device", nargs="?", default="flagos", help="device name (default: flagos)")
    parser.add_argument("--bare", action="store_true", help="do not import flagos_runtime")
    arguments = parser.parse_args()
    if not arguments.bare:
        import flagos_runtime  # noqa: F401 - importing it activates it

    model = torch.nn.Linear(10, 10).to(arguments.device)
    compiled = torch.compile(model, fullgraph=True)
    out = compiled(torch.randn(1, 10, device=arguments.device))

    print("OK", tuple(out.shape))


if __name__ == "__main__":
    main()
