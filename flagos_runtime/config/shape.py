"""A document against the models: pydantic's errors as diagnostics at the place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from flagos_runtime.config.excerpt import either, nearest, shown, suggestion
from flagos_runtime.config.models import DAY_WANTED, Model, RouteFile
from flagos_runtime.config.source import Document, Steps, reading_of
from flagos_runtime.diagnostics import Diagnostic

#: Type of pydantic's error -> what was wanted; the values of its context fill the braces.
WANTED: Final = {
    "string_type": "text",
    "string_too_short": "at least {min_length} character",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "too_short": "at least {min_length} entry",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge} or more",
    "literal_error": "{expected}",
    "value_error": "{error}",
    "date_type": DAY_WANTED,
}
#: What torch calls some of its dtypes as well.
DTYPES: Final = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
#: Type of pydantic's error -> texts that would do if they were not quoted.
UNQUOTED: Final = {
    "int_type": re.compile(r"-?[0-9]+"),
    "float_type": re.compile(r"-?[0-9]+(\.[0-9]+)?"),
    "bool_type": re.compile(r"true|false"),
}
#: Of more words than these a message lists the first.
MOST_NAMES: Final = 6
QUOTED: Final = re.compile(r"'([^']+)'")


def validate(document: Document) -> tuple[RouteFile | None, tuple[Diagnostic, ...]]:
    """Return the route file that *document* holds, or what is wrong with its shape."""
    try:
        return RouteFile.model_validate(document.value), ()
    except ValidationError as error:
        details = error.errors(include_url=False)
    return None, tuple(_findings(document, details))


def _findings(document: Document, details: list[ErrorDetails]) -> Iterator[Diagnostic]:
    meant = dict(_misspelt(details))
    for detail in details:
        steps = detail["loc"]
        # a misspelt key is reported once, not again as the missing one; a list of wrong items counts as empty
        is_echo = steps in meant.values() or (detail["type"] == "too_short" and detail["input"])
        if not document.is_flagged(steps) and not is_echo:
            yield _finding(document, detail, meant)


def _misspelt(details: list[ErrorDetails]) -> Iterator[tuple[Steps, Steps]]:
    """Yield unknown keys with the key of the same mapping that is missing and was likely meant."""
    missing = {detail["loc"] for detail in details if detail["type"] == "missing"}
    for steps in (detail["loc"] for detail in details if detail["type"] == "extra_forbidden"):
        name = nearest(str(steps[-1]), _model_at(steps[:-1]).model_fields)
        if name is not None and (*steps[:-1], name) in missing:
            yield steps, (*steps[:-1], name)


def _finding(document: Document, detail: ErrorDetails, meant: Mapping[Steps, Steps]) -> Diagnostic:
    steps, kind, value = detail["loc"], detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return _unknown_key(document, steps, meant)
    if kind == "missing":
        return _missing_key(document, steps)
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        message = f"{_title(steps)} is {reading_of(value)} to YAML, wanted text"
        return document.at_value("FR106", steps, message, f"quote it: '{_as_written(value)}'")
    if steps not in document.places:  # what a route is short for
        steps = steps[:-2]
    wanted = _wanted(steps, detail)
    message = f"{_title(steps)} is {_found(value)}, wanted {wanted}"
    return document.at_value("FR104", steps, message, _hint(detail, wanted))


# -- keys -----------------------------------------------------------------------------------------------------------


def _unknown_key(document: Document, steps: Steps, meant: Mapping[Steps, Steps]) -> Diagnostic:
    name, model = str(steps[-1]), _model_at(steps[:-1])
    if steps in meant:
        hint = f"did you mean '{meant[steps][-1]}'?"
    else:
        hint = _other_place(name) or suggestion(name, model.model_fields)
    return document.at_key("FR103", steps, f"unknown key {shown(name)} in {model.noun}", hint)


def _other_place(name: str) -> str:
    owners = [model.noun for model in _models(RouteFile) if name in model.model_fields]
    return f"it is a key of {' and of '.join(owners)}" if owners else ""


def _missing_key(document: Document, steps: Steps) -> Diagnostic:
    name, model = str(steps[-1]), _model_at(steps[:-1])
    message = f"the key '{name}' is missing in {model.noun}"
    return document.at_value("FR105", steps, message, f"add '{name}': {model.model_fields[name].description}")


# -- values ---------------------------------------------------------------------------------------------------------


def _wanted(steps: Steps, detail: ErrorDetails) -> str:
    if detail["type"] == "model_type":
        return "a backend or a mapping with 'use'" if _model_at(steps).noun == "a route" else "a mapping"
    names = QUOTED.findall(detail.get("ctx", {}).get("expected", ""))
    if len(names) > MOST_NAMES:
        return either(names, most=MOST_NAMES)
    template = WANTED.get(detail["type"])
    return template.format(**detail.get("ctx", {})) if template else detail["msg"].lower()


def _hint(detail: ErrorDetails, wanted: str) -> str:
    value, kind = detail["input"], detail["type"]
    if value is None or kind == "too_short":
        return "write a value, or take the key away"
    if isinstance(value, str):
        return _text_hint(value, detail)
    if kind == "tuple_type" and isinstance(value, dict):
        return "begin each entry with '-'"
    if kind == "model_type" and isinstance(value, tuple):
        is_route = wanted.startswith("a backend")
        return f"write {{use: [{', '.join(map(str, value))}]}}" if is_route else "write 'key: value', without '-'"
    return ""


def _text_hint(value: str, detail: ErrorDetails) -> str:
    """Return what to do where text stands for something else."""
    expected = detail.get("ctx", {}).get("expected", "")
    if detail["type"] == "tuple_type":
        return f"write [{value}]"
    if (expected and value == expected) or (detail["type"] in UNQUOTED and UNQUOTED[detail["type"]].fullmatch(value)):
        return "take the quotes away"
    close = _close(value, QUOTED.findall(expected)) if expected else None
    return f"did you mean '{close}'?" if close else ""


def _close(value: str, names: list[str]) -> str | None:
    word = value.removeprefix("torch.")
    for candidate in (DTYPES.get(word), word.upper(), word.lower()):
        if candidate in names:
            return candidate
    return nearest(word, names)


def _title(steps: Steps) -> str:
    """Return what a value is called: by its key, an item of a list by its number."""
    last = steps[-1]
    return shown(last) if isinstance(last, str) else f"entry {last + 1} of {_title(steps[:-1])}"


def _found(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, str):
        return shown(value) if value else "empty text"
    if isinstance(value, tuple):
        return "a list" if value else "an empty list"
    return "a mapping" if isinstance(value, dict) else reading_of(value)


def _as_written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- models ---------------------------------------------------------------------------------------------------------


def _model_at(steps: Steps) -> type[Model]:
    """Return the model that describes the mapping at *steps*."""
    found: Any = RouteFile
    for step in steps:
        found = _inner(_fields(found)[step] if isinstance(step, str) and _is_model(found) else get_args(found), step)
    return found if _is_model(found) else RouteFile


def _inner(kind: Any, step: object) -> Any:  # noqa: ANN401 - a type as it is written has no type of its own
    """Strip what stands around the type of one value: alternatives with None, validators, the container."""
    if isinstance(kind, tuple):
        kind = kind[-1] if isinstance(step, str) else kind[0]
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(item for item in get_args(kind) if item is not NoneType)
    return kind


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Model)


def _fields(model: type[Model]) -> dict[str, Any]:
    return {name: field.annotation for name, field in model.model_fields.items()}


def _models(model: type[Model]) -> Iterator[type[Model]]:
    """Yield *model* and every model below it."""
    yield model
    for kind in _fields(model).values():
        inner = _inner(kind, "")
        while get_args(inner):
            inner = _inner(get_args(inner), "" if get_origin(inner) is dict else 0)
        if _is_model(inner):
            yield from _models(inner)
