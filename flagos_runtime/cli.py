"""The command line: parse, call, print, exit; what is true is decided elsewhere.

Commands import what they need themselves, because ``--help`` and ``validate`` have to stay quick and free of torch.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.main import get_command

from flagos_runtime import survey_commands
from flagos_runtime.console import (
    PROBLEM,
    WRONG_USE,
    command,
    note,
    print_page,
    say,
    say_json,
    show,
    table_width,
    wants_color,
)
from flagos_runtime.errors import ConfigError

if TYPE_CHECKING:
    from flagos_runtime.conversion import Converted
    from flagos_runtime.documents import Report
    from flagos_runtime.plan import Explanation
    from flagos_runtime.preview import Preview
    from flagos_runtime.records import Capability, Platform
    from flagos_runtime.report import Sources

SCHEMAS: Final[Mapping[str, str]] = {
    "routes": "flagos_runtime.config.schema:routes_schema",
    "report": "flagos_runtime.report:report_schema",
    "snapshot": "flagos_runtime.snapshot_file:snapshot_schema",
    "survey": "flagos_runtime.survey.result:survey_schema",
}

PlatformOption = Annotated[str | None, typer.Option("--platform", metavar="NAME", help="Take this platform.")]
RoutesOption = Annotated[Path | None, typer.Option("--routes", metavar="FILE", help="Take this route file.")]
HostOption = Annotated[
    Path | None, typer.Option("--host", metavar="SNAPSHOT", help="Take the host that was recorded in this file.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, everything else on stderr.")]

app = typer.Typer(
    name="flagos-runtime",
    help='Show and check what "cuda" means on this host.',
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(survey_commands.app, name="survey")


def main() -> None:
    """Run the command line of this process; always raises ``SystemExit``."""
    # not `app()`, which replaces sys.excepthook and with it the one that a script under `run` would see
    get_command(app)(prog_name="flagos-runtime")


# -- commands ---------------------------------------------------------------------------------------------------


def _print_version(wanted: bool) -> None:
    if wanted:
        from flagos_runtime.report import installed_version

        say(f"flagos-runtime {installed_version('flagos-runtime') or 'from a checkout that is not installed'}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Show and check what "cuda" means on this host."""


@app.command()
@command
def check(
    *,
    platform: PlatformOption = None,
    routes: RoutesOption = None,
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for an issue.")] = False,
    host: HostOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Measure each capability on the device.")] = False,
    require: Annotated[
        str, typer.Option(metavar="NAME,...", help="Fail unless all are available, e.g. bf16,alias:cuda.")
    ] = "",
) -> None:
    """Print the capability matrix of this host.

    The runtime is activated in this process, so what is shown is what was done and not what was meant. With --host
    nothing is activated, and what would be done there is shown.
    """
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other")
    if host is not None and deep:
        raise typer.BadParameter("--deep measures this host, so it cannot go with --host")
    from flagos_runtime import report

    failure = _activation_failure(platform, routes) if host is None else None
    sources = _sources(platform, routes) if host is None else _recorded_sources(host, platform, routes)
    if deep:
        sources = replace(sources, measure=lambda chosen: _measured(chosen, routes, shown=not as_json))
    document, known = report.gather(sources, failure=failure)
    wanted = [word.strip() for word in require.split(",") if word.strip()]
    unknown = report.unknown_requirements(document, wanted, known=known)
    if unknown:
        raise typer.BadParameter("; ".join(unknown), param_hint="--require")
    unmet = report.unmet_requirements(document, wanted)
    _print_report(document, "json" if as_json else "markdown" if as_markdown else "table")
    for line in unmet:
        note(line)
    if failure is not None:
        raise failure
    raise typer.Exit(PROBLEM if unmet or report.has_problem(document) else 0)


@app.command()
@command
def plan(
    platform: PlatformOption = None,
    routes: RoutesOption = None,
    host: HostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what activation would do, and change nothing.

    Steps stand in their order; what is left out stands below, with the reason.
    """
    from flagos_runtime import render, report

    preview = _preview(host, platform, routes)
    document = report.plan_report(
        preview.plan,
        detection=preview.detection,
        routes=preview.routes.source if preview.routes is not None else "",
        diagnostics=preview.diagnostics,
    )
    if as_json:
        say_json({**document})
        show(preview.diagnostics)
    else:
        print_page(render.plan_page(document))
    raise typer.Exit(PROBLEM if any(item.severity == "error" for item in preview.diagnostics) else 0)


@app.command()
@command
def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="aten::mm.default, torch.cuda.is_available or cuda.")],
    platform: PlatformOption = None,
    host: HostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what is known of one name on this host.

    The runtime is activated in this process, except with --host.
    """
    from flagos_runtime.records import plain

    failure = _activation_failure(platform, None) if host is None else None
    explanation = _explanation(name, host, platform)
    if as_json:
        say_json(plain(explanation))
    else:
        say("\n".join(explanation.lines))
    if failure is not None:
        raise failure
    raise typer.Exit(WRONG_USE if explanation.kind == "unknown" else 0)


@app.command()
@command
def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The route file.")],
    as_json: JsonOption = False,
) -> None:
    """Check a route file, without torch or an accelerator."""
    from flagos_runtime import activation
    from flagos_runtime.config.loader import load_routes

    try:
        found = load_routes(file, activation.known()).diagnostics
        valid = True
    except ConfigError as error:
        found, valid = error.diagnostics, False
    show(found)
    if as_json:
        say_json({"file": str(file), "valid": valid, "diagnostics": [item.to_dict() for item in found]})
    elif valid:
        say(f"{file}: valid")
    raise typer.Exit(0 if valid else WRONG_USE)


@app.command()
@command
def snapshot() -> None:
    """Print what is known of this host as JSON, for --host on another one.

    Nothing is activated, and torch is asked in a process of its own. What looks like a secret is masked.
    """
    from flagos_runtime.snapshot import snapshot_of_this_host

    say_json(snapshot_of_this_host())


@app.command()
@command
def schema(
    of: Annotated[str, typer.Argument(metavar="[routes|report|snapshot|survey]", help="Which document.")] = "routes",
) -> None:
    """Print the JSON Schema of the route file, the report, a snapshot or the result of a survey."""
    if of not in SCHEMAS:
        raise typer.BadParameter(f"'{of}' has no schema; known are {', '.join(SCHEMAS)}")
    module, _, function = SCHEMAS[of].partition(":")
    say_json(getattr(import_module(module), function)(), sort_keys=True)


@app.command()
@command
def apis(as_json: JsonOption = False) -> None:
    """Print how each API of torch.cuda is treated."""
    from flagos_runtime import activation, render
    from flagos_runtime.documents import SCHEMA_VERSION

    rows = tuple((item.name, item.treatment, item.detail) for item in activation.api_table())
    if as_json:
        entries = [dict(zip(("name", "treatment", "detail"), row, strict=True)) for row in rows]
        say_json({"schema_version": SCHEMA_VERSION, "apis": entries})
    else:
        print_page(render.apis_page(rows))


@app.command()
@command
def matrix(
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, a cell for each fact.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Print verdicts on operators instead.")] = False,
    survey: Annotated[
        Path | None, typer.Option(metavar="RESULT", help="Put the result of a survey beside them.")
    ] = None,
) -> None:
    """Print what every known platform declares, asking nothing of this host.

    With --evidence: what surveys of its operators found, as others published it.
    """
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other")
    if survey is not None and not evidence:
        raise typer.BadParameter("--survey goes with --evidence")
    if evidence:
        _print_evidence(survey, "json" if as_json else "markdown" if as_markdown else "table")
        return
    from flagos_runtime import plugins, render
    from flagos_runtime.matrix import matrix_page, matrix_report

    found = plugins.load_plugins()
    document = matrix_report(found)
    if as_json:
        say_json({**document})
        show(found.diagnostics)
    elif as_markdown:
        say(render.page_markdown(matrix_page(document, grid=True)))
    else:
        print_page(matrix_page(document))
    raise typer.Exit(PROBLEM if found.diagnostics else 0)


@app.command()
@command
def init(
    path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="Default: where activation looks.")] = None,
    force: ForceOption = False,
) -> None:
    """Copy the route file that is shipped, for editing."""
    from flagos_runtime.config.loader import bundled_routes

    target = path or _user_routes(os.environ)
    _write(target, Path(bundled_routes()).read_text(encoding="utf-8"), force=force)
    say(str(target))
    note(f"edit it, then run: flagos-runtime validate {target}")


@app.command()
@command
def import_conf(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Upstream backends_*.conf files.")],
    platform: PlatformOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the route file that upstream confs come to, without torch.

    Overloads that the installed torch does not have are left out and named; a backend or line that is wrong refuses
    everything.
    """
    from flagos_runtime.conversion import import_confs

    _deliver(import_confs(tuple(files), platform), output, force=force, as_json=as_json)


@app.command()
@command
def export_conf(
    *,
    routes: Annotated[Path | None, typer.Argument(metavar="[ROUTES]", help="Default: what activation takes.")] = None,
    platform: PlatformOption = None,
    vendor: Annotated[str | None, typer.Option(metavar="WORD", help="The word for the backend 'vendor'.")] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Leave out what a conf cannot express.")] = False,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the operator routes of one platform as an upstream conf, without torch."""
    from flagos_runtime.conversion import export_conf as convert

    _deliver(convert(routes, platform, vendor=vendor, lossy=lossy), output, force=force, as_json=as_json)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@command
def run(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", exists=True, help="A Python file.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="Its arguments.")] = None,
) -> None:
    """Activate the runtime, then run a script.

    The script is the main program, and its exit code is passed through.
    """
    from flagos_runtime import activation
    from flagos_runtime.script import run_script

    activation.activate()
    raise typer.Exit(0 if run_script(script, arguments or []) else PROBLEM)


# -- what commands share ----------------------------------------------------------------------------------------


def _activation_failure(platform: str | None, routes: Path | None) -> Exception | None:
    """Activate, and return what went wrong, so that a report can still be made of it."""
    from flagos_runtime import activation

    try:
        activation.activate(platform=platform, routes=_text(routes))
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - raised again once the report is printed
        return error
    return None


def _sources(platform: str | None, routes: Path | None) -> Sources:
    from flagos_runtime import activation, autoloading, plugins, report

    return report.Sources(
        status=activation.status,
        platforms=lambda: plugins.load_plugins().platforms,
        routes=lambda: activation.preview(platform=platform, routes=_text(routes)).plan.routes,
        host=lambda: report.host_entry(os.environ),
        findings=autoloading.import_findings,
    )


def _recorded_sources(host: Path, platform: str | None, routes: Path | None) -> Sources:
    """Read everything before anything is printed: a bad snapshot is wrong use and no part that is missing."""
    from flagos_runtime import plugins, report
    from flagos_runtime.replay import replay

    found = replay(host, platform, _text(routes))
    return report.Sources(
        status=lambda: found.status,
        platforms=lambda: plugins.load_plugins().platforms,
        routes=lambda: found.preview.plan.routes,
        host=lambda: found.host,
        findings=lambda: found.findings,
    )


def _explanation(name: str, host: Path | None, platform: str | None) -> Explanation:
    if host is None:
        from flagos_runtime import activation

        return activation.explain(name)
    from flagos_runtime.replay import explain_replay, replay

    return explain_replay(replay(host, platform, with_routes=True), name)


def _preview(host: Path | None, platform: str | None, routes: Path | None) -> Preview:
    if host is None:
        from flagos_runtime import activation

        return activation.preview(platform=platform, routes=_text(routes))
    from flagos_runtime.replay import replay

    return replay(host, platform, _text(routes), with_routes=True).preview


def _measured(platform: Platform, routes: Path | None, *, shown: bool) -> tuple[Capability, ...]:
    """Measure in processes that activate what this one did."""
    from flagos_runtime.measurement import measured_on
    from flagos_runtime.progress import progress_bar

    environ = {**os.environ, **({} if routes is None else {"FLAGOS_ROUTES": str(routes.absolute())})}
    return measured_on(platform, environ, functools.partial(progress_bar, shown=shown))


def _print_report(document: Report, layout: str) -> None:
    from flagos_runtime import render
    from flagos_runtime.diagnostics import Diagnostic

    if layout == "table":
        say(render.as_table(document, width=table_width(), color=wants_color()))
        return
    say(render.RENDERERS[layout](document))
    show(Diagnostic(**item) for item in document["diagnostics"])


def _user_routes(environ: Mapping[str, str]) -> Path:
    config = environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(config).expanduser() / "flagos" / "routes.yaml"


def _print_evidence(survey: Path | None, layout: str) -> None:
    from flagos_runtime.evidence import evidence_page, evidence_report
    from flagos_runtime.render import page_markdown

    found = evidence_report(survey)
    if layout == "json":
        say_json({**found})
    elif layout == "markdown":
        say(page_markdown(evidence_page(found)))
    else:
        print_page(evidence_page(found))


def _deliver(found: Converted, output: Path | None, *, force: bool, as_json: bool) -> None:
    """Write or print what a conversion made; what it left out is a problem, notes are none."""
    from flagos_runtime.documents import SCHEMA_VERSION

    if output is not None:
        _write(output, found.text, force=force)
    show(found.diagnostics)
    if as_json:
        written = None if output is None else str(output)
        routes = {name: dict(table) for name, table in found.routes.items()}
        findings = [item.to_dict() for item in found.diagnostics]
        say_json({"schema_version": SCHEMA_VERSION, "written": written, "routes": routes, "diagnostics": findings})
    else:
        say(found.text if output is None else str(output))
    raise typer.Exit(PROBLEM if any(item.severity != "note" for item in found.diagnostics) else 0)


def _write(target: Path, text: str, *, force: bool) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # "x" fails on an existing file without a moment in which another process can create it
        with target.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        exists = target.exists() and not force
        reason = "exists; pass --force to overwrite it" if exists else f"cannot be written: {error.strerror}"
        raise typer.BadParameter(f"'{target}' {reason}", param_hint="PATH") from error


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
