"""Which route file is read; loads neither yaml nor pydantic."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.errors import ConfigError

NAMED_BY: Final = ("FLAGOS_ROUTES", "FLAGOS_BACKEND_CONFIG")


def find_routes(env: Mapping[str, str]) -> Path:
    """Return the route file that *env* selects, else the bundled one; the working directory is never searched.

    Raises:
        ConfigError: the file that was chosen cannot be read (FR100).
    """
    return chosen_routes(env) or bundled_routes()


def chosen_routes(env: Mapping[str, str]) -> Path | None:
    """Return the route file that somebody chose by a variable or by its place, ``None`` where nobody did.

    Raises:
        ConfigError: the file that was chosen cannot be read (FR100).
    """
    for variable in NAMED_BY:
        if named := env.get(variable, "").strip():
            return _readable(Path(_expanded(named, env)), variable)
    path = _user_routes(env)
    # not Path.exists, which raises where a folder above may not be entered
    if path is None or not os.path.lexists(path):
        return None
    return _readable(path, "the user's configuration")


def bundled_routes() -> Path:
    """Return the route file that is shipped: of the installed package, else of the checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_bundled" / "routes.yaml"
    return installed if installed.is_file() else package.parent / "routes.yaml"


def _user_routes(env: Mapping[str, str]) -> Path | None:
    """A relative folder would mean the working directory; the XDG specification has it ignored."""
    named = Path(env.get("XDG_CONFIG_HOME", ""))
    folder = named if named.is_absolute() else Path(_expanded("~/.config", env))
    return folder / "flagos" / "routes.yaml" if folder.is_absolute() else None


def _expanded(path: str, env: Mapping[str, str]) -> str:
    home = env.get("HOME")
    if home and path.startswith("~/"):
        return os.path.join(home, path[2:])
    return os.path.expanduser(path)


def _readable(path: Path, chosen_by: str) -> Path:
    if reason := _obstacle(path):
        hint = f"correct {chosen_by}, or unset it to use the file that is shipped"
        if chosen_by not in NAMED_BY:
            hint = "make it a readable file, or move it away to use the one that is shipped"
        raise _unusable(chosen_by, f"'{path}' {reason}; a route file was wanted", hint)
    return path


def _obstacle(path: Path) -> str:
    """Nothing is opened: to open a pipe would wait for its writer, and then take that away from the real reader."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            return "is a directory"
    except OSError as error:
        return f"cannot be read: {(error.strerror or 'no reason given').lower()}"
    return "" if os.access(path, os.R_OK) else "cannot be read: permission denied"


def _unusable(where: str, message: str, hint: str) -> ConfigError:
    return ConfigError((Diagnostic("FR100", "error", where, message, hint),))
