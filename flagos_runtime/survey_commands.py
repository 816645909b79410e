"""The command `survey` and what is below it."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flagos_runtime.console import PROBLEM, command, note, print_page, say, say_json

# Imports inside functions below: `--help` of any command must not pay for a survey.

if TYPE_CHECKING:
    from flagos_runtime.survey.cohort import Cohort
    from flagos_runtime.survey.journal import Journal
    from flagos_runtime.survey.result import SettingsEntry, SurveyDocument

app = typer.Typer(help="Measure which operators a backend serves right.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ResultArgument = Annotated[Path, typer.Argument(metavar="RESULT", help="What `survey run` has written.")]


@app.command()
@command
def run(  # noqa: PLR0913, PLR0917 - one argument for each option
    backend: Annotated[str, typer.Option("--backend", metavar="NAME", help="Whose kernels are tried.")] = "flaggems",
    ops: Annotated[str, typer.Option("--ops", metavar="NAMES", help="'aten::mm,aten::sum.*' instead of all.")] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Take this many overloads.")] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Workers at the same time.")] = 1,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds that one case may take.")] = 60.0,
    seed: Annotated[int, typer.Option("--seed", help="Decides the values of the cases.")] = 0,
    cases: Annotated[int, typer.Option("--cases", min=1, help="Cases of one overload at most.")] = 32,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each case.")] = 2,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The result.")] = Path("survey.json"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a survey that was interrupted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Try the overloads of a backend on this platform's device, each in a process of its own.

    Exit code 0 whatever the verdicts are: they are the result.
    """
    from flagos_runtime.facts import find_facts
    from flagos_runtime.survey.cohort import cohort_of
    from flagos_runtime.survey.journal import Journal

    settings: SettingsEntry = {"seed": seed, "most": cases, "largest": 4096, "repeats": repeats}
    facts = find_facts(with_routes=True)
    names = tuple(filter(None, (item.strip() for item in ops.split(","))))
    cohort = cohort_of(facts, backend, settings, ops=names, limit=limit)
    journal = Journal(output.with_name(f"{output.name}.journal"), cohort.entry, resume=resume)
    try:
        _carry_out(cohort, journal, jobs=jobs, timeout_s=timeout)
    except KeyboardInterrupt:
        note(f"{len(journal.complete)} of {len(cohort.overloads)} overloads are done; go on with the same and --resume")
        raise
    title = facts.detection.platform.title if facts.detection.platform else ""
    found = _written(output, cohort, journal, title)
    journal.close()
    _tell(found, output, as_json=as_json)


def _carry_out(cohort: Cohort, journal: Journal, *, jobs: int, timeout_s: float) -> None:
    from flagos_runtime.progress import progress_bar
    from flagos_runtime.survey.index import index_of
    from flagos_runtime.survey.run import Orders, survey

    environment = dict(os.environ)
    with progress_bar(0, action="reading torch's operator database") as advance:
        index = index_of(cohort.entry, environment, advance)
    # a device's context does not survive a fork, and host memory does
    forked = cohort.entry["platform"] == "sim"
    orders = Orders(cohort, index, jobs, timeout_s, forked, environment)
    done = len(journal.complete)
    with progress_bar(len(cohort.overloads), action="surveying", done=done) as advance:
        survey(orders, journal, advance)


def _written(output: Path, cohort: Cohort, journal: Journal, device: str) -> SurveyDocument:
    from flagos_runtime.survey.cohort import versions
    from flagos_runtime.survey.result import document, write

    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    found = document(cohort.entry, journal.cases, created=created, device=device, versions=versions())
    write(output, found)
    return found


def _tell(found: SurveyDocument, output: Path, *, as_json: bool) -> None:
    from flagos_runtime.survey_pages import result_page

    if as_json:
        say_json(found)
    else:
        print_page(result_page(found))
        note(f"written to {output}")


@app.command()
@command
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A result.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="A later one of the same cohort.")],
    as_json: JsonOption = False,
) -> None:
    """Tell what moved between two surveys of one cohort; exit code 1 where something got worse."""
    from flagos_runtime.survey.difference import difference, is_worse
    from flagos_runtime.survey.result import read
    from flagos_runtime.survey_pages import difference_page

    found = difference(read(before), read(after))
    if as_json:
        say_json(found)
    else:
        print_page(difference_page(found))
    raise typer.Exit(PROBLEM if is_worse(found) else 0)


@app.command()
@command
def routes(
    result: ResultArgument,
    by_dtype: Annotated[
        bool, typer.Option("--by-dtype", help="Route what is right in some dtypes too, for those.")
    ] = False,
) -> None:
    """Print a route file for the overloads that are STRICT, with the evidence in it."""
    from flagos_runtime.survey.result import read
    from flagos_runtime.survey.routes import survey_routes

    say(survey_routes(read(result), by_dtype=by_dtype))
