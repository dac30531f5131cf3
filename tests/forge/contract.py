"""GitHub's own description of its answers and events, as a yardstick. See `data/NOTICE.md`."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from openapi_schema_validator import OAS30Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

DATA = Path(__file__).parent / "data"
NAME = "urn:github"


def operations() -> set[tuple[str, str]]:
    """Every (method, path template) of the REST subset."""
    paths = _document("rest.openapi.json")["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods}


def answer_faults(method: str, template: str, status: int, body: Any) -> list[str]:
    """How an answer departs from GitHub's description; empty when it does not."""
    described = _document("rest.openapi.json")["paths"][template][method.lower()]["responses"]
    assert str(status) in described, f"{method} {template} never answers {status}"
    content = _resolved("rest.openapi.json", described[str(status)]).get("content")
    if content is None:
        return [] if body is None else [f"a body where none is described: {body}"]
    return _faults("rest.openapi.json", content["application/json"]["schema"], body)


def payload_faults(event: str, payload: dict[str, Any]) -> list[str] | None:
    """How a delivery's payload departs from GitHub's description; None when there is no description of it."""
    name = "-".join([event, payload["action"]] if "action" in payload else [event]).replace("_", "-")
    schema = _document("webhooks.schema.json")["x-webhooks"].get(name)
    return None if schema is None else _faults("webhooks.schema.json", schema, payload)


@cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / name).read_text())
    _mend(document)
    return document


def _mend(node: Any) -> None:
    """Put right what the description itself gets wrong.

    A nullable enum must list null to allow it. A check run that waits has no `started_at`. A deleted fork leaves a
    pull request's head without a repository, which only the webhooks' schemas say.
    """
    if isinstance(node, list):
        for item in node:
            _mend(item)
    if not isinstance(node, dict):
        return
    if node.get("nullable") is True and isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    properties = node.get("properties")
    if isinstance(properties, dict):
        if isinstance(properties.get("started_at"), dict):
            properties["started_at"]["nullable"] = True
        if {"label", "ref", "repo", "sha", "user"} <= properties.keys():
            properties["repo"] = {"anyOf": [properties["repo"], {"nullable": True, "enum": [None]}]}
    for value in list(node.values()):
        _mend(value)


def _resolved(document: str, node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = _document(document)
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return _resolved(document, found)


@cache
def _registry(document: str) -> Registry[Any]:
    return Registry().with_resource(NAME, Resource(contents=_document(document), specification=DRAFT4))


def _faults(document: str, schema: dict[str, Any], body: Any) -> list[str]:
    absolute = json.loads(json.dumps(schema).replace('"$ref": "#/', f'"$ref": "{NAME}#/'))
    validator = OAS30Validator(absolute, registry=_registry(document), format_checker=OAS30Validator.FORMAT_CHECKER)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:300]}" for error in validator.iter_errors(body)]
