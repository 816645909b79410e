"""Every platform beside every capability, as its plugin declares it; nothing is asked of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypedDict, cast

from flagos_runtime.documents import SCHEMA_VERSION, DiagnosticEntry
from flagos_runtime.hookspecs import CAPABILITIES
from flagos_runtime.names import NAMES, meanings, name_text
from flagos_runtime.plugins import PluginSet
from flagos_runtime.records import Evidence, Platform, PlatformKind, State
from flagos_runtime.render import Page, Section, problems

STATES: Final[tuple[State, ...]] = ("available", "unavailable", "unknown")
NOTE: Final = "declared by the plugins and measured nowhere here; what is unknown must not be relied on"
MEANINGS: Final = 'under "cuda" and "flagos" stands what the name means'
COLUMNS: Final = ("platform", "kind", "device", '"cuda"', '"flagos"', "GEMS_VENDOR", "process group", "support")


class DeclaredEntry(TypedDict):
    """One capability of one platform, as its plugin declares it."""

    state: State
    evidence: Evidence
    detail: str
    source: str


class MatrixRow(TypedDict):
    """One platform."""

    name: str
    title: str
    kind: PlatformKind
    support: Annotated[Literal["torch", "runtime only"], "runtime only: the vendor's runtime is found, no more"]
    distribution: Annotated[str, "who describes the platform"]
    device_type: Annotated[str | None, "the canonical device type of torch"]
    cuda: Annotated[str, 'what "cuda" means']
    flagos: Annotated[str, 'what "flagos" means']
    gems_vendor: str | None
    dist_backend: str | None
    names: Annotated[dict[str, str], "what each ecosystem calls it; empty where it has no name"]
    capabilities: dict[str, DeclaredEntry]


class MatrixReport(TypedDict):
    """What `flagos-runtime matrix --json` prints."""

    schema_version: Literal[1]
    capabilities: Annotated[list[str], "every capability, in order"]
    platforms: list[MatrixRow]
    diagnostics: list[DiagnosticEntry]


# -- records -> document --------------------------------------------------------------------------------------------


def matrix_report(plugins: PluginSet) -> MatrixReport:
    """Return the document of what *plugins* declare."""
    return {
        "schema_version": SCHEMA_VERSION,
        "capabilities": list(CAPABILITIES),
        "platforms": [_row(item, plugins.provenance.get(item.name, "")) for item in plugins.platforms],
        "diagnostics": [cast("DiagnosticEntry", item.to_dict()) for item in plugins.diagnostics],
    }


def _row(platform: Platform, distribution: str) -> MatrixRow:
    cuda, flagos = meanings(platform)
    return {
        "name": platform.name,
        "title": platform.title,
        "kind": platform.kind,
        "support": "runtime only" if platform.runtime_only else "torch",
        "distribution": distribution,
        "device_type": platform.device_type,
        "cuda": cuda,
        "flagos": flagos,
        "gems_vendor": platform.gems_vendor,
        "dist_backend": platform.dist_backend,
        "names": {field: name_text(platform, field) for field in NAMES},
        "capabilities": _declared(platform),
    }


def _declared(platform: Platform) -> dict[str, DeclaredEntry]:
    """Return every capability; one that the platform does not speak about is unknown."""
    silent: DeclaredEntry = {"state": "unknown", "evidence": "declared", "detail": "not declared", "source": ""}
    found: dict[str, DeclaredEntry] = {
        item.name: {"state": item.state, "evidence": item.evidence, "detail": item.detail, "source": item.source}
        for item in platform.capabilities
    }
    return {name: found.get(name, silent) for name in CAPABILITIES}


# -- document -> page -----------------------------------------------------------------------------------------------


def matrix_page(matrix: MatrixReport, *, grid: bool = False) -> Page:
    """Return *matrix* for people: with *grid* a cell for each fact, else names by state, which fits a terminal."""
    rows = matrix["platforms"]
    platforms = Section("platforms", COLUMNS, tuple(map(_platform_cells, rows)), (MEANINGS,))
    head, cells = (
        (("platform", *matrix["capabilities"]), _grid_cells) if grid else (("platform", *STATES), _state_cells)
    )
    capabilities = Section("capabilities", head, tuple(map(cells, rows)), (NOTE,))
    headline = f"{len(rows)} platforms, {len(matrix['capabilities'])} capabilities"
    return Page(headline, (), (platforms, capabilities, problems(matrix["diagnostics"])))


def _platform_cells(row: MatrixRow) -> tuple[str, ...]:
    names = (row["device_type"], row["cuda"], row["flagos"], row["gems_vendor"], row["dist_backend"])
    return row["name"], row["kind"], *(name or "none" for name in names), row["support"]


def _grid_cells(row: MatrixRow) -> tuple[str, ...]:
    return row["name"], *(item["state"] for item in row["capabilities"].values())


def _state_cells(row: MatrixRow) -> tuple[str, ...]:
    *known, unknown = (_names_in(row["capabilities"], state) for state in STATES)
    return row["name"], *map(", ".join, known), f"the other {len(unknown)}"


def _names_in(capabilities: Mapping[str, DeclaredEntry], state: State) -> list[str]:
    return [name for name, item in capabilities.items() if item["state"] == state]
