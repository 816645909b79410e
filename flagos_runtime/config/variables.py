"""The environment variables that this runtime reads: the one table of them, and the page that is made of it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Kind = Literal["switch", "choice", "path", "integer", "text", "foreign"]

TRUE_WORDS: Final = ("1", "true", "on", "yes")
FALSE_WORDS: Final = ("0", "false", "off", "no")


class Variable(NamedTuple):
    """One variable.

    Attributes:
        name: the full name, or what the names of a family begin with.
        kind: how the value is read; ``foreign`` belongs to another program, and its value is not checked.
        default: what an unset variable means, written as a value.
        purpose: what it is for, one clause.
        choices: the words that a choice or a comma list may have.
        least: smallest value of an integer.
        most: largest value of an integer, where there is one.
        is_prefix: true for a family of names.
        example: what stands for the rest of a family's name on the page.
    """

    name: str
    kind: Kind
    default: str
    purpose: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    is_prefix: bool = False
    example: str = ""


VARIABLES: Final[tuple[Variable, ...]] = (
    Variable("FLAGOS_RUNTIME", "switch", "on", "`off` leaves torch alone: nothing is activated"),
    Variable("FLAGOS_PLATFORM", "text", "", "platform to activate, instead of the route file's and the detected one"),
    Variable("FLAGOS_ROUTES", "path", "", "route file to read"),
    Variable(
        "FLAGOS_BACKEND_CONFIG", "path", "", "route file, or upstream conf, to read where FLAGOS_ROUTES is not set"
    ),
    Variable(
        "FLAGOS_STARTUP_PROFILE",
        "choice",
        "",
        "how much is activated, instead of what the route file says",
        ("full", "minimal"),
    ),
    Variable("FLAGOS_ALIAS_CUDA", "switch", "on", "`off` leaves the name `cuda` to torch, which then fails loudly"),
    Variable(
        "FLAGOS_FORCE_BACKEND", "choice", "", "one backend for every operator that it serves", ("flaggems", "vendor")
    ),
    Variable(
        "FLAGOS_OP_",
        "text",
        "",
        "backends of one overload as a comma list; its dot is written as two underscores",
        is_prefix=True,
        example="<OVERLOAD>",
    ),
    Variable("FLAGOS_LOG", "text", "", "comma list of what is logged", ("dispatch", "fallback", "patch")),
    Variable(
        "FLAGOS_OVERRIDE_",
        "text",
        "",
        "answer of one probe; set and empty means that the thing is absent",
        is_prefix=True,
        example="<PROBE>",
    ),
    Variable("FLAGOS_SIM_DEVICES", "integer", "1", "number of devices that `sim` has", least=1, most=16),
    Variable("FLAGOS_SIM_MEMORY", "integer", "4G", "memory of each `sim` device, in bytes or as `512M`, `4G`", least=1),
    Variable("GEMS_VENDOR", "foreign", "", "FlagGems' vendor; taken from the platform where it is not set"),
    Variable("TORCH_DEVICE_BACKEND_AUTOLOAD", "foreign", "1", "torch's own switch: `0` loads no backend at import"),
)

VALUES: Final = MappingProxyType({"integer": "number", "foreign": "text"})

INTRODUCTION: Final = """\
# Environment variables

An empty variable counts as unset. A switch is {true} to say yes and
{false} to say no, in any case. A value that is not understood brings the warning `FR116`, and the
default holds. So does a name that begins with `FLAGOS_` and is not in this table.

| name | value | default | purpose |
| --- | --- | --- | --- |
"""


def environment_page() -> str:
    """Return docs/environment.md."""
    true, false = (", ".join(f"`{word}`" for word in words) for words in (TRUE_WORDS, FALSE_WORDS))
    return INTRODUCTION.format(true=true, false=false) + "".join(f"{_row(item)}\n" for item in VARIABLES)


def _row(item: Variable) -> str:
    default = f"`{item.default}`" if item.default else "not set"
    return f"| `{item.name}{item.example}` | {_value(item)} | {default} | {item.purpose} |"


def _value(item: Variable) -> str:
    if item.choices:
        return ", ".join(f"`{word}`" for word in item.choices)
    if item.most is not None:
        return f"{item.least} to {item.most}"
    return VALUES.get(item.kind, item.kind)
