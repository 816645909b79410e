"""A recorded host as a document: what it holds, its JSON Schema, and reading it back from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict, cast

from flagos_runtime.diagnostics import Diagnostic
from flagos_runtime.documents import DiagnosticEntry, MachineEntry, json_schema, mismatches
from flagos_runtime.errors import ConfigError

SNAPSHOT_VERSION: Final = 1
TAKE_AGAIN: Final = "take it again with 'flagos-runtime snapshot'"

PciEntry = TypedDict("PciEntry", {"address": str, "vendor": str, "device": str, "class": str})


class UnansweredEntry(TypedDict):
    """A question that the host could not answer."""

    kind: Literal["path", "pci", "library", "module", "torch"]
    subject: str
    error: Annotated[str, "name of the exception"]
    message: str


class Sections(TypedDict):
    """The sections that every snapshot has."""

    schema_version: Literal[1]
    host: MachineEntry
    environment: Annotated[dict[str, str], "variables of a fixed list that are set, secrets masked"]
    paths: Annotated[list[str], "what the patterns of the platforms match"]
    pci: Annotated[list[PciEntry] | None, "every PCI device; null where they cannot be listed"]
    libraries: Annotated[dict[str, str | None], "where each shared library was found; null where it is not there"]
    modules: Annotated[dict[str, str | None], "version of each module, empty where it states none; null where absent"]
    torch: Annotated[dict[str, str | None], "what torch was built with"]
    answers: Annotated[dict[str, bool | None], "torch's own answer of each probe; null where none came"]


class Snapshot(Sections, total=False):
    """What `flagos-runtime snapshot` prints."""

    library_versions: Annotated[dict[str, str], "version of a library, where the name of its file has one"]
    asked: Annotated[dict[str, list[str]], "by kind, what was asked; anything else is unknown. Absent: all was asked"]
    unanswered: list[UnansweredEntry]
    torch_failure: Annotated[DiagnosticEntry | None, "why torch cannot be imported, where it cannot"]


def snapshot_schema() -> dict[str, object]:
    """Return the JSON Schema of the document that ``snapshot`` prints."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "flagos_runtime snapshot", **json_schema(Snapshot)}


def read_snapshot(path: Path) -> Snapshot:
    """Return the snapshot in the file at *path*.

    Raises:
        ConfigError: it cannot be read or is no snapshot (FR117), with every finding.
    """
    document = _parsed(path)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version is not None and version != SNAPSHOT_VERSION:
        message = f"schema_version is {version!r}, wanted {SNAPSHOT_VERSION}"
        raise _unusable(path, message, hint=f"{TAKE_AGAIN}, of the version that is to replay it")
    if found := tuple(mismatches(document, Snapshot)):
        raise _unusable(path, *found, hint=TAKE_AGAIN)
    return cast("Snapshot", document)


def _parsed(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable(path, f"cannot be read: {(error.strerror or 'no reason given').lower()}") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"is no UTF-8 text: {error.reason} at byte {error.start}", hint=TAKE_AGAIN) from error
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise _unusable(place, f"is no JSON: {error.msg.lower()}", hint=TAKE_AGAIN) from error
    except (RecursionError, ValueError) as error:
        raise _unusable(path, "is no snapshot: nested too deep or a number too long", hint=TAKE_AGAIN) from error


def _unusable(where: Path | str, *messages: str, hint: str = "") -> ConfigError:
    last = len(messages) - 1
    hints = (hint if index == last else "" for index in range(len(messages)))
    return ConfigError(
        tuple(
            Diagnostic("FR117", "error", str(where), message, words)
            for message, words in zip(messages, hints, strict=True)
        )
    )
