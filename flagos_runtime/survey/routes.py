"""Route files written from the result of a survey."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flagos_runtime.config.conf_yaml import entry_lines
from flagos_runtime.config.loader import bundled_routes, load_routes, parse_routes
from flagos_runtime.facts import known_names
from flagos_runtime.survey.result import CaseEntry, OverloadEntry, SurveyDocument
from flagos_runtime.survey.verdicts import IDLE


def survey_routes(found: SurveyDocument, *, by_dtype: bool) -> str:
    """Return a route file for what is STRICT: the surveyed backend, then the device's kernel.

    What else the shipped file says of the platform is in it too.

    Args:
        found: the result of a survey.
        by_dtype: route what is BASIC_ONLY too, for calls whose operands all have dtypes of which every case passed.

    Raises:
        ConfigError: the routes are not valid on this machine, for instance since another torch is installed.
    """
    known = known_names()
    shipped = load_routes(bundled_routes(), known).of(found["platform"])
    routes = [line for item in found["overloads"] for line in _route(found, item, by_dtype=by_dtype)]
    title = f"{len(routes)} overloads by the survey of '{found['backend']}' of {found['created']}"
    text = "\n".join(
        [
            f"# {title}",
            "version: 1",
            "platforms:",
            *entry_lines(shipped),
            "    ops:",
            f"      routes:{'' if routes else ' {}'}",
            *(f"        {line}" for line in routes),
            "",
        ]
    )
    # what this program writes it has to be able to read
    parse_routes(text.encode(), "the routes of the survey", known)
    return text


def _route(found: SurveyDocument, item: OverloadEntry, *, by_dtype: bool) -> Iterator[str]:
    evidence = f"{{verdict: {item['verdict']}, device: {json.dumps(found['device'])}, date: {found['created'][:10]}}}"
    route = f"{item['name']}: {{use: [{found['backend']}, vendor]"
    if item["verdict"] == "STRICT":
        yield f"{route}, evidence: {evidence}}}"
    elif by_dtype and (dtypes := _right_dtypes(item["cases"])):
        yield f"{route}, guard: {{dtypes: [{', '.join(dtypes)}]}}, evidence: {evidence}}}"


def _right_dtypes(cases: list[CaseEntry]) -> tuple[str, ...]:
    """Return the dtypes of which every case passed; none where two of them fail in one call."""
    weighed = [(frozenset(case["dtype"].split("+")), case["status"]) for case in cases if case["status"] not in IDLE]
    wrong = {dtypes for dtypes, status in weighed if status != "PASS"}
    alone = dict.fromkeys(case["dtype"] for case in cases if case["status"] == "PASS" and "+" not in case["dtype"])
    right = tuple(dtype for dtype in alone if frozenset({dtype}) not in wrong)
    return () if any(dtypes <= set(right) for dtypes in wrong) else right
