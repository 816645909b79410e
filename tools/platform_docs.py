"""Write docs/platforms/ from the records of the platforms in this tree; `make docs` runs it.

The pages are text that a test compares with the records, so they are never edited by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from flagos_runtime.hookspecs import CAPABILITIES
from flagos_runtime.matrix import NOTE, MatrixRow, matrix_report
from flagos_runtime.names import NAMES, OTHER_VENDORS, meanings, name_text
from flagos_runtime.plugins import PluginSet, load_plugins
from flagos_runtime.records import Capability, Platform, ProbeSpec

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "platforms"
GENERATED = "<!-- written by `make docs` from platforms/flagos_platforms -->"
PLATFORM_COLUMNS = (
    "platform",
    "kind",
    "device",
    "`cuda` means",
    "`flagos` means",
    "`GEMS_VENDOR`",
    "process group",
    "support",
)
PROBE_COLUMNS = ("probe", "looks for", "kind", "says", "source")
CAPABILITY_COLUMNS = ("capability", "state", "evidence", "detail", "source")


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    plugins = load_plugins(())
    texts = {f"{item.name}.md": platform_page(item) for item in plugins.platforms}
    return {**texts, "matrix.md": matrix_page(plugins), "names.md": names_page(plugins.platforms)}


def write_pages() -> None:
    """Write every page, and remove those of platforms that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


# -- pages ----------------------------------------------------------------------------------------------------------


def matrix_page(plugins: PluginSet) -> str:
    """Return the page of all platforms and capabilities."""
    rows = matrix_report(plugins)["platforms"]
    states = ([linked(row["name"]), *(item["state"] for item in row["capabilities"].values())] for row in rows)
    return page(
        "Platforms and capabilities",
        f"`flagos-runtime matrix` prints this for the plugins that are installed. Facts are {NOTE}.",
        table(PLATFORM_COLUMNS, map(platform_cells, rows)),
        "*runtime only* means that the vendor's runtime is described and found, and that nothing beyond it is covered.",
        table(("platform", *map(literal, CAPABILITIES)), states),
    )


def names_page(platforms: Sequence[Platform]) -> str:
    """Return the page of what each ecosystem calls a chip."""
    rows = [item for item in platforms if item.kind != "sim"]
    fields = [field for field in NAMES if field not in {"sdk_paths", "sdk_variables", "command"}]
    half = len(fields) // 2 + 1
    parts = (fields[:half], fields[half:])
    vendors = ", ".join(code(name) for name in OTHER_VENDORS)
    return page(
        "Names of one chip",
        "One chip has a name in each ecosystem, and they rarely agree. A dash means that there is none, or that no "
        "source states one; the platform's own page says which.",
        *(
            table(("platform", *(literal(NAMES[field]) for field in part)), (name_cells(item, part) for item in rows))
            for part in parts
        ),
        "`GEMS_VENDOR` takes a value of its column and nothing else: another one is an error, and one that contradicts "
        f"the platform of the host a warning. FlagGems knows {vendors} besides, for which there is no platform here.",
    )


def platform_page(platform: Platform) -> str:
    """Return the page of one platform."""
    cuda, flagos = meanings(platform)
    facts = [(literal(NAMES[field]), code(name_text(platform, field)) or absence(platform, field)) for field in NAMES]
    environment = [("environment", code(f"{name}={value}")) for name, value in platform.environment]
    probes = table(PROBE_COLUMNS, map(probe_cells, platform.probes)) if platform.probes else "Chosen by name only."
    return page(
        platform.title,
        f"Platform `{platform.name}`, kind `{platform.kind}`, rank {platform.rank}. "
        f"The name `cuda` means {meaning(cuda)}, the name `flagos` means {meaning(flagos)}."
        + (" Runtime only: beyond the vendor's runtime nothing is covered." if platform.runtime_only else ""),
        "## Names",
        table(("what", "name"), (*facts, *environment)),
        f"Source: {literal(platform.names_source or 'this project')}.",
        "## How it is told",
        probes,
        "## Capabilities",
        table(CAPABILITY_COLUMNS, map(capability_cells, platform.capabilities)),
        *(("## Good to know", "\n".join(f"- {literal(note)}" for note in platform.notes)) if platform.notes else ()),
    )


# -- rows -----------------------------------------------------------------------------------------------------------


def platform_cells(row: MatrixRow) -> list[str]:
    """Return the cells of one platform in the matrix."""
    names = (row["device_type"], row["cuda"], row["flagos"], row["gems_vendor"], row["dist_backend"])
    return [linked(row["name"]), code(row["kind"]), *(name or "none" for name in names), row["support"]]


def name_cells(platform: Platform, fields: Iterable[str]) -> list[str]:
    """Return the names of one platform."""
    return [linked(platform.name), *(code(name_text(platform, field)) or "-" for field in fields)]


def probe_cells(probe: ProbeSpec) -> list[str]:
    """Return what one probe looks for and what follows from it."""
    says = [word for word, holds in (("there", probe.presence), ("usable", probe.required)) if holds]
    source = probe.source if probe.verified else f"{probe.source} (not verified)"
    cells = (code(probe.name), code(", ".join(probe.subjects)), probe.kind, " and ".join(says) or "more about it")
    return [*cells, literal(source)]


def capability_cells(item: Capability) -> list[str]:
    """Return one declared fact."""
    return [literal(text) for text in (item.name, item.state, item.evidence, item.detail, item.source)]


def absence(platform: Platform, field: str) -> str:
    """Return why *platform* has no such name."""
    return next((literal(f"none: {item.reason}") for item in platform.lacks if item.name == field), "none")


# -- Markdown -------------------------------------------------------------------------------------------------------


def page(title: str, *blocks: str) -> str:
    """Return a page of *blocks*."""
    return "\n\n".join((GENERATED, f"# {title}", *blocks)) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = (columns, ("---",) * len(columns), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Return names that a comma separates as code."""
    return ", ".join(f"`{name}`" for name in text.split(", ") if name)


def literal(text: str) -> str:
    """Return *text* with what Markdown would read as structure escaped."""
    return re.sub(r"([\\`*_<>])", r"\\\1", text)


def linked(name: str) -> str:
    """Return a link to the page of platform *name*."""
    return f"[{name}]({name}.md)"


def meaning(name: str) -> str:
    """Return what a name means, as part of a sentence."""
    return {"itself": "itself", "nothing": "nothing", "on request": "`cuda`, on request"}.get(name, f"`{name}`")


if __name__ == "__main__":
    write_pages()
