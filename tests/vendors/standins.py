"""Packages that behave at import as a vendor's torch plugin does, made of this project's own device for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

SOURCE = Path(__file__).resolve().parents[2] / "flagos_runtime"

PLUGIN = """
    from contextvars import ContextVar
    from importlib import import_module
    import os

    {broken}
    from {package}._impl.config.environment import read_environment
    from {package}._impl.integration import catalogue
    from {package}._impl.integration.aliases.names import Live
    from {package}._impl.integration.context import Context
    from {package}._impl.ledger import Ledger
    from {package}._impl.records import Platform

    platform = Platform(name="{device}", title="stand-in", kind="sim", device_type="{device}")
    context = Context(Ledger(), platform, read_environment(os.environ), ContextVar("asking", default=False), Live())
    for step in (*catalogue._DEVICE, *(item for item in catalogue._COMPILE if item.alias is None)):
        module, _, name = step.installer.partition(":")
        getattr(import_module(module), name)(context, step)

    def _autoload():
        pass

    def __getattr__(name):
        raise RuntimeError(f"{package} has no attribute '{{name}}'")
"""


def build(folder: Path, package: str, device: str, *, broken: str = "") -> str:
    """Write the plugin *package* of *device* into *folder* and return the folder for PYTHONPATH.

    It names PrivateUse1, registers kernels and module, has a ``torch.backends`` entry point, and raises on any other
    attribute. *broken* is run first, for a plugin that cannot be imported.
    """
    root = folder / package
    for path in SOURCE.rglob("*.py"):
        target = root / "_impl" / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_renamed(path, package, device), encoding="utf-8")
    (root / "_impl" / "__init__.py").write_text("")
    (root / "__init__.py").write_text(dedent(PLUGIN.format(package=package, device=device, broken=broken)))
    info = folder / f"{package}-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.9\n")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{package} = {package}:_autoload\n")
    return str(folder)


def _renamed(path: Path, package: str, device: str) -> str:
    text = path.read_text(encoding="utf-8").replace("flagos_runtime", f"{package}._impl")
    return text.replace('DEVICE_TYPE = "flagos"', f'DEVICE_TYPE = "{device}"')
