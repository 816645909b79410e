"""How every command ends and speaks: exit codes, what goes to standard output and what to standard error."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec, TextIO

import typer

from flagos_runtime.errors import ConfigError, FlagosError

if TYPE_CHECKING:
    from flagos_runtime.diagnostics import Diagnostic
    from flagos_runtime.render import Page

P = ParamSpec("P")

PROBLEM: Final = 1
WRONG_USE: Final = 2
BUG: Final = 3
INTERRUPTED: Final = 130


def command(body: Callable[P, None]) -> Callable[P, None]:
    """Give *body* the exit codes that every command shares."""

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            body(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)
        except ConfigError as error:
            show(error.diagnostics)
            raise typer.Exit(WRONG_USE) from error
        except FlagosError as error:
            _fail(f"error: {error}", PROBLEM)
        except Exception as error:  # noqa: BLE001 - the outermost border: a bug has an exit code of its own
            _fail_with_bug(error)

    return run


def say(text: str) -> None:
    """Print *text* on standard output."""
    typer.echo(_printable(text.removesuffix("\n"), sys.stdout))


def say_json(document: object, *, sort_keys: bool = False) -> None:
    """Print *document* as JSON on standard output."""
    say(json.dumps(document, indent=2, sort_keys=sort_keys))


def note(text: str) -> None:
    """Print *text* on standard error."""
    typer.echo(_printable(text, sys.stderr), err=True)


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print each of *diagnostics* on standard error."""
    for item in diagnostics:
        note(str(item))


def _fail(message: str, code: int) -> NoReturn:
    note(message)
    raise typer.Exit(code)


def _fail_with_bug(error: Exception) -> NoReturn:
    import traceback

    note("".join(traceback.format_exception(error)))
    _fail(f"this is a bug in flagos_runtime: {type(error).__name__}: {error}", BUG)


def _printable(text: str, stream: TextIO) -> str:
    """Return *text* as *stream* can take it: a report must not die of a console that is not UTF-8."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def table_width() -> int:
    """Return how wide a table may be."""
    return min(100, get_terminal_size((100, 24)).columns)


def wants_color() -> bool:
    """Tell whether standard output is a terminal that takes colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_page(page: Page) -> None:
    """Print *page* as tables on standard output."""
    from flagos_runtime.render import page_table

    say(page_table(page, width=table_width(), color=wants_color()))
