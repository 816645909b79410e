"""Start a platform: write its file from a template and list it in BUILTIN; `make new-platform NAME=acme` runs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = "platforms/flagos_platforms"
PLUGINS = "flagos_runtime/plugins.py"
NAME = re.compile(r"[a-z][a-z0-9_]*")
BUILTIN = re.compile(r"^(BUILTIN: Final = \(\n(?:    \"[\w.]+\",\n)*)\)", re.MULTILINE)

TEMPLATE = Template('''"""$title accelerators."""

from __future__ import annotations

from typing import Final

from flagos_runtime.hookspecs import declared, hookimpl
from flagos_runtime.records import Platform, ProbeSpec

# where the facts below were read: a document and its version
SOURCE: Final = ""

PROBES: Final[tuple[ProbeSpec, ...]] = (
    # ProbeSpec("${name}_device_nodes", "path", ("/dev/$name[0-9]*",), SOURCE, presence=True),
    # ProbeSpec("${name}_pci", "pci", ("0x....",), SOURCE, presence=True),
    # ProbeSpec("${name}_runtime", "library", ("lib$name.so",), SOURCE, required=True),
    # ProbeSpec("${name}_torch_package", "module", ("torch_$name",), SOURCE, required=True),
)
CAPABILITIES: Final = declared(SOURCE)


@hookimpl
def flagos_platform() -> Platform:
    """Describe $title accelerators."""
    return Platform(
        name="$name",
        title="$title",
        kind="private_use1",
        device_type="$name",
        probes=PROBES,
        capabilities=CAPABILITIES,
    )
''')


def start_platform(name: str, root: Path = ROOT) -> Path:
    """Write the file of platform *name* below *root*, list it, and return its path.

    Raises:
        SystemExit: the name cannot be a platform's, or there is one of that name.
    """
    path = root / PLATFORMS / f"{name}.py"
    if not NAME.fullmatch(name):
        raise SystemExit(f"'{name}' cannot be a platform's name, wanted lower-case letters, digits and '_'")
    if path.exists():
        raise SystemExit(f"'{path}' exists")
    plugins = root / PLUGINS
    listed, count = BUILTIN.subn(rf'\1    "flagos_platforms.{name}",\n)', plugins.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"'{plugins}' has no tuple BUILTIN with one name a line")
    path.write_text(TEMPLATE.substitute(name=name, title=name.capitalize()), encoding="utf-8")
    plugins.write_text(listed, encoding="utf-8")
    return path


if __name__ == "__main__":
    start_platform(sys.argv[1] if len(sys.argv) > 1 else "")
