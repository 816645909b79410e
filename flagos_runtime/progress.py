"""A bar on stderr that names what is being done, how much of it is left, and how long that will take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count


@contextmanager
def progress_bar(
    total: int, *, shown: bool = True, action: str = "measuring", done: int = 0
) -> Iterator[Callable[[str], None]]:
    """Yield a function to be called with the name of each of *total* things; without a total it says what goes on.

    The bar is drawn on a terminal only, and is gone afterwards. *done* things were done before.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda _: None
        return
    # only a terminal pays for importing rich
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    counters = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (BarColumn(), *counters, TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total or None, completed=done)
        places = count(done)
        yield lambda name: bar.update(task, description=f"{action} {name}", completed=next(places), refresh=True)
