"""The JSON Schema of a route file, for editors and other programs."""

from __future__ import annotations

from typing import Final

from flagos_runtime.config.models import RouteFile

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def routes_schema() -> dict[str, object]:
    """Return the JSON Schema of a route file, as it is in schemas/routes.schema.json."""
    return {**RouteFile.model_json_schema(), "$schema": DIALECT, "title": "flagos_runtime routes"}
