"""Which overloads the installed kernel packages serve, read from their files: importing them would need torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flagos_runtime.records import BackendTable

#: The tuple of FlagGems that registers its kernels: the name of an overload, a function, and at times a condition that
#: every torch which this runtime supports meets.
REGISTERED: Final = "_FULL_CONFIG"
GEMS_HINT: Final = "install flagos-runtime[gems], or the vendor's build of it"


def table() -> BackendTable:
    """Return what FlagGems has a kernel of; its kernels need Triton."""
    folder = _folder("flag_gems")
    if folder is None:
        return BackendTable(False, f"flag_gems is not installed; {GEMS_HINT}")
    if find_spec("triton") is None:
        return BackendTable(False, f"flag_gems is there and triton is not installed; {GEMS_HINT}")
    file = folder / "__init__.py"
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError) as exc:
        return BackendTable(False, f"{file} cannot be read: {exc}")
    values = dict(_assigned(tree))
    version = _version("flag_gems") or _text(values.get("__version__"))
    overloads = frozenset(_overloads(values.get(REGISTERED)))
    if not overloads:
        return BackendTable(False, f"{file} has no {REGISTERED} that names overloads", version=version)
    return BackendTable(True, f"flag_gems {version}".rstrip(), overloads, version)


def cpp_table() -> BackendTable:
    """Return that no kernel of FlagGems in C++ is known, and whether they are there."""
    folder = _folder("flag_gems")
    if folder is None:
        return BackendTable(False, f"flag_gems is not installed; {GEMS_HINT}")
    if not any(folder.glob("c_operators*")):
        return BackendTable(False, "flag_gems is installed without its C++ kernels (flag_gems.c_operators)")
    return _tableless("flag_gems.c_operators", "flag_gems")


def tileops_table() -> BackendTable:
    """Return that no kernel of TileOPs is known, and whether it is there."""
    if _folder("tileops") is None:
        return BackendTable(False, "tileops is not installed")
    return _tableless("tileops", "tileops")


def _tableless(title: str, distribution: str) -> BackendTable:
    version = _version(distribution)
    return BackendTable(False, f"no kernel table is known for {title} {version}".rstrip(), version=version)


def _folder(package: str) -> Path | None:
    """Return where a top-level package lies; finding it imports nothing."""
    found = find_spec(package)
    folders = (found.submodule_search_locations or ()) if found else ()
    return next(map(Path, folders), None)


def _version(distribution: str) -> str:
    from importlib import metadata  # late: 15 ms in a process that has not loaded it yet

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


# -- the file of FlagGems ---------------------------------------------------------------------------------------------


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that the module binds at its top, with what is assigned."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((item.id, node.value) for item in node.targets if isinstance(item, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _overloads(value: ast.expr | None) -> Iterator[str]:
    for item in value.elts if isinstance(value, (ast.Tuple, ast.List)) else ():
        if isinstance(item, (ast.Tuple, ast.List)) and (name := _text(item.elts[0] if item.elts else None)):
            yield f"aten::{name.removeprefix('aten::').removesuffix('.default')}"


def _text(value: ast.expr | None) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
