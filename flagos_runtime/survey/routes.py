"""Route files written from the result of a survey."""

from __future__ import annotations

import json

from flagos_runtime.config.conf_yaml import entry_lines
from flagos_runtime.config.loader import bundled_routes, load_routes, parse_routes
from flagos_runtime.facts import known_names
from flagos_runtime.records import Verdict
from flagos_runtime.survey.result import SurveyDocument


def survey_routes(found: SurveyDocument, wanted: Verdict) -> str:
    """Return a route file for the overloads with verdict *wanted*: the surveyed backend, then the device's kernel.

    What else the shipped file says of the platform is in it too.

    Raises:
        ConfigError: the routes are not valid on this machine, for instance since another torch is installed.
    """
    known = known_names()
    shipped = load_routes(bundled_routes(), known).of(found["platform"])
    names = [item["name"] for item in found["overloads"] if item["verdict"] == wanted]
    title = f"{len(names)} overloads are {wanted} by the survey of '{found['backend']}' of {found['created']}"
    text = "\n".join(
        [
            f"# {title}",
            "version: 1",
            "platforms:",
            *entry_lines(shipped),
            "    ops:",
            f"      routes:{'' if names else ' {}'}",
            *(f"        {name}: {_route(found, wanted)}" for name in names),
            "",
        ]
    )
    # what this program writes it has to be able to read
    parse_routes(text.encode(), "the routes of the survey", known)
    return text


def _route(found: SurveyDocument, wanted: Verdict) -> str:
    evidence = f"{{verdict: {wanted}, device: {json.dumps(found['device'])}, date: {found['created'][:10]}}}"
    return f"{{use: [{found['backend']}, vendor], evidence: {evidence}}}"
