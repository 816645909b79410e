"""Coded messages: what was found, where, and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "note"]

#: Every code, declared once. FR1xx config, FR2xx plugin, FR3xx probe, FR4xx resolve, FR5xx apply, FR6xx drift.
CODES: Final[dict[str, str]] = {
    "FR100": "the route file cannot be read",
    "FR101": "the file is not valid YAML",
    "FR102": "a key stands twice in one mapping",
    "FR103": "a key is unknown",
    "FR104": "a value has the wrong type or form",
    "FR105": "a key that is needed is missing",
    "FR106": "YAML read a plain word or number as another type",
    "FR107": "the document is too large, too deep or expands too far",
    "FR108": "a platform is unknown",
    "FR109": "`extends` or `include` leads back to itself",
    "FR110": "an alias is not possible",
    "FR111": "a target or probe cannot be patched",
    "FR112": "an ATen overload is unknown",
    "FR113": "a backend is unknown",
    "FR114": "a patch is unknown",
    "FR115": "two entries contradict each other",
    "FR116": "an environment variable has no meaning or a wrong value",
    "FR117": "a snapshot cannot be used",
    "FR118": "a replay reads another route file than the recorded host did",
    "FR119": "a backend has no kernel of an operator",
    "FR120": "a backend, or another one after a failure, is not possible for an operator",
    "FR121": "a route has no form in an upstream conf",
    "FR122": "the result of a survey cannot be used",
    "FR201": "a plugin cannot be imported",
    "FR202": "a plugin implements a hook that does not exist",
    "FR203": "a plugin's hook has a wrong signature",
    "FR204": "a plugin's hook raised or returned a wrong record",
    "FR205": "two plugins describe one platform",
    "FR206": "a plugin's operator backend has a name that is taken",
    "FR301": "a probe failed",
    "FR302": "a probe ran out of time",
    "FR303": "a probe is overridden by the environment",
    "FR304": "torch cannot be imported",
    "FR305": "a capability was declared and measured otherwise",
    "FR401": "steps wait for one another in a circle",
    "FR402": "a step waits for one that does not exist",
    "FR403": "two steps write one target and no order between them is stated",
    "FR404": "no backend of an operator is available",
    "FR501": "a step failed and the activation was rolled back",
    "FR502": "the platform that was asked for cannot be activated",
    "FR503": "a step has no undo",
    "FR504": "a second activation asked for something else",
    "FR601": "another writer changed a target after activation",
}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: a key of ``CODES``.
        severity: ``error`` stops the stage that found it.
        where: ``file:line:column``, a plugin with its distribution, or a target.
        message: what was found and what was wanted, one clause.
        hint: what to do; empty where there is nothing to add.
        excerpt: the offending source line with a caret below, or empty.
    """

    code: str
    severity: Severity
    where: str
    message: str
    hint: str = ""
    excerpt: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"undeclared diagnostic code '{self.code}'")

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        lines = [f"{place}{self.severity}[{self.code}] {self.message}"]
        if self.excerpt:
            lines.append(self.excerpt)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, str]:
        """Return the five public fields; the excerpt is for people only."""
        record = asdict(self)
        del record["excerpt"]
        return record
