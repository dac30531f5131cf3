"""GitHub's own description of its answers and events, as a yardstick. See `data/NOTICE.md`."""

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
    operation = _document("rest.openapi.json")["paths"][template][method.lower()]
    assert str(status) in operation["responses"], f"{method} {template} never answers {status}"
    response = operation["responses"][str(status)]
    where = ["paths", template, method.lower(), "responses", str(status)]
    if "$ref" in response:
        where = response["$ref"].removeprefix("#/").split("/")
        response = _document("rest.openapi.json")["components"]["responses"][where[-1]]
    if "content" not in response:
        return [] if body is None else [f"a body where none is described: {body}"]
    return _faults("rest.openapi.json", [*where, "content", "application/json", "schema"], body)


def payload_faults(event: str, payload: dict[str, Any]) -> list[str] | None:
    """How a delivery's payload departs from GitHub's description; None when there is no description of it."""
    name = "-".join([event, payload["action"]] if "action" in payload else [event]).replace("_", "-")
    described = name in _document("webhooks.schema.json")["x-webhooks"]
    return _faults("webhooks.schema.json", ["x-webhooks", name], payload) if described else None


@cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / name).read_text())
    _mend(document)
    return document


def _mend(node: Any) -> None:
    """Put right what the description itself gets wrong.

    A nullable enum must list null to allow it. A check run that waits has no `started_at`. A deleted fork leaves a
    pull request's head without a repository, which only the webhooks' schemas say. An account is a user *or* an
    enterprise, where one operation's copy of the schema wants it to be both.
    """
    if isinstance(node, list):
        for item in node:
            _mend(item)
    if not isinstance(node, dict):
        return
    if node.get("nullable") is True and isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    titles = {part.get("title") for part in node.get("allOf", []) if isinstance(part, dict)}
    if titles == {"Simple User", "Enterprise"}:
        node["anyOf"] = node.pop("allOf")
    properties = node.get("properties")
    if isinstance(properties, dict):
        if isinstance(properties.get("started_at"), dict):
            properties["started_at"]["nullable"] = True
        if {"label", "ref", "repo", "sha", "user"} <= properties.keys():
            properties["repo"] = {"anyOf": [properties["repo"], {"nullable": True, "enum": [None]}]}
    for value in list(node.values()):
        _mend(value)


@cache
def _registry(document: str) -> Registry[Any]:
    return Registry().with_resource(NAME, Resource(contents=_document(document), specification=DRAFT4))


def _faults(document: str, where: list[str], body: Any) -> list[str]:
    pointer = "/".join(part.replace("~", "~0").replace("/", "~1") for part in where)
    schema = {"$ref": f"{NAME}#/{quote(pointer)}"}
    checker = OAS30Validator.FORMAT_CHECKER
    validator = OAS30Validator(schema, registry=_registry(document), format_checker=checker)
    return [f"{'.'.join(map(str, error.path))}: {error.message[-300:]}" for error in validator.iter_errors(body)]
