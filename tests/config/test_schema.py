"""The JSON Schema of a route file: complete, in sync, and in agreement with the loader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from flagos_runtime.config.loader import bundled_routes
from flagos_runtime.config.schema import routes_schema

FILE = Path(__file__).parents[2] / "schemas" / "routes.schema.json"


def properties(schema) -> Iterator[tuple[str, dict]]:
    """Yield every property of a schema and of its definitions."""
    for owner, part in {"": schema, **schema["$defs"]}.items():
        for name, value in part["properties"].items():
            yield f"{owner}.{name}", value


def test_file_is_in_sync():
    """The schema on disk is the one that the models make."""
    expected = json.dumps(routes_schema(), indent=2, sort_keys=True) + "\n"

    assert expected == FILE.read_text(encoding="utf-8"), "run make schema"


def test_schema_is_a_schema():
    """The schema is valid against the dialect that it names."""
    jsonschema.Draft202012Validator.check_schema(routes_schema())

    assert routes_schema()["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_every_field_is_described():
    """An editor has a sentence to show for each key."""
    assert [name for name, value in properties(routes_schema()) if not value.get("description")] == []


def test_unknown_keys_are_closed_out_everywhere():
    """An editor marks a misspelt key in every mapping."""
    schema = routes_schema()

    assert [name for name, part in schema["$defs"].items() if part["additionalProperties"] is not False] == []
    assert schema["additionalProperties"] is False


def test_shipped_file_is_valid():
    """The file that users copy fits the schema that it names."""
    text = bundled_routes().read_text(encoding="utf-8")

    jsonschema.validate(yaml.safe_load(text), routes_schema())
    assert text.startswith("# yaml-language-server: $schema=schemas/routes.schema.json\n")


@pytest.mark.parametrize("route", ["vendor", {"use": ["vendor"]}], ids=["short", "long"])
def test_both_forms_of_a_route_are_valid(route):
    """A route is a backend's name or a mapping."""
    document = {"version": 1, "platforms": {"sim": {"ops": {"routes": {"aten::mm": route}}}}}

    jsonschema.validate(document, routes_schema())


@pytest.mark.parametrize("route", [1, [], "", {"use": []}, {"use": ["cpu"], "kernel": "x"}])
def test_other_forms_of_a_route_are_not(route):
    """What the loader refuses for its shape, the schema refuses."""
    document = {"version": 1, "platforms": {"sim": {"ops": {"routes": {"aten::mm": route}}}}}

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, routes_schema())


def test_alias_names_are_offered():
    """Where the loader knows a closed set, an editor can offer it."""
    alias = routes_schema()["$defs"]["AliasEntry"]["properties"]

    assert (alias["name"]["enum"], alias["to"]["enum"]) == (["cuda", "flagos"], ["device"])
