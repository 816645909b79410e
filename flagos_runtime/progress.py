"""A bar on stderr that names what is being measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function to be called with the name of each of *total* capabilities before it is measured.

    The bar is drawn on a terminal only, and is gone afterwards.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda _: None
        return
    # only a terminal pays for importing rich
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total)
        done = count()
        yield lambda name: bar.update(task, description=f"measuring {name}", completed=next(done), refresh=True)
