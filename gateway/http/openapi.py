"""The OpenAPI document, made of endpoints."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from gateway import __version__
from gateway.events.contract import json_schema
from gateway.http.conditional_requests import LastingDocument
from gateway.http.endpoint import Answer, Endpoint
from gateway.http.error_responses import ProblemReply
from gateway.ids import ARTIFACT_PATTERN, ID_PATTERN

REFERENCE = "#/components/schemas/{model}"
MEANING = {
    200: "Done",
    201: "Made",
    202: "Accepted",
    204: "Nothing to send",
    206: "The part that was asked for",
    303: "Go on at another address",
    304: "The client has it already",
    400: "The request is not of the right form",
    401: "No credentials, or such that do not hold",
    403: "Not from this page or host, or not for that user",
    404: "No such thing, or it belongs to somebody else",
    408: "The body did not come in, or too slowly",
    409: "In conflict with what is there",
    412: "It is at another version than If-Match says",
    413: "The body is too large",
    416: "Nothing of it is in the range",
    429: "Too much at once; see Retry-After",
    500: "What is kept is damaged; the message names it",
    502: "The model did not do its part",
    503: "Not now; see Retry-After",
}
SECURITY = {
    "key": {"type": "http", "scheme": "bearer"},
    "user": {
        "type": "apiKey",
        "in": "header",
        "name": "X-User-Id",
        "description": "The user whom a delegate key acts for: always with such a key, never with others.",
    },
}
ALWAYS_REFUSED = (400, 401, 403)
NUMBER = "^[0-9]{1,12}$"
PATTERNS = {
    "ref": f"^{ARTIFACT_PATTERN}$",
    "model": r"^[^\s?#]+$",
    "branch": NUMBER,
    "version": NUMBER,
    "kind": "^(user|household)$",
}
"""Of what stands in a path and is no ordinary id."""


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document (OpenAPI 3.1) of `endpoints`."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in _all_models(endpoints)], by_alias=False, ref_template=REFERENCE
    )
    events = orjson.loads(orjson.dumps(json_schema()).replace(b"#/$defs/", b"#/components/schemas/Event_"))
    schemas = dict(definitions["$defs"])
    schemas |= {f"Event_{name}": schema for name, schema in events.pop("$defs").items()}
    schemas["Event"] = {key: value for key, value in events.items() if key != "$schema"}
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.template, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Chat Gateway", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": SECURITY},
        "security": [{}, {"key": []}, {"key": [], "user": []}],
    }


def document(endpoints: Sequence[Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    """The route of the document of `endpoints`."""

    made = LastingDocument(lambda: orjson.dumps(openapi(endpoints)), "application/json")

    async def answer(request: Request) -> Response:
        for model in () if made.is_made else _all_models(endpoints):
            if not model.__pydantic_complete__:  # here, since pydantic builds none in two threads at a time
                model.model_rebuild()
                await asyncio.sleep(0)
        return await made.response(request.headers)

    return answer


def _all_models(endpoints: Sequence[Endpoint]) -> list[type[BaseModel]]:
    models = {model for each in endpoints for model in _models(each)} | {ProblemReply}
    return sorted(models, key=lambda model: model.__name__)


def _models(each: Endpoint) -> set[type[BaseModel]]:
    models = {answer for answers in each.answers.values() for answer in answers if isinstance(answer, type)}
    return models | {model for model in (each.body, each.query) if model is not None}


def _operation(each: Endpoint) -> dict[str, Any]:
    module = each.handler.__module__.rpartition(".")[2].removesuffix("_routes")
    operation: dict[str, Any] = {
        "operationId": f"{module}_{each.handler.__name__}",
        "summary": each.summary,
        "parameters": [*_path_parameters(each), *_query_parameters(each), *_header_parameters(each)],
        "responses": {},
    }
    content: dict[str, Any] = {}
    if each.body is not None:
        content["application/json"] = {"schema": {"$ref": REFERENCE.format(model=each.body.__name__)}}
    if each.upload is not None:
        content[each.upload] = {"schema": {"type": "string"}}
    if content:
        operation["requestBody"] = {"required": True, "content": content}
    for status, answers in each.answers.items():
        operation["responses"][str(status)] = _response(status, answers)
    slow = (408,) if content else ()
    for status in sorted({*ALWAYS_REFUSED, *slow, *each.all_refusals} - set(each.answers)):
        operation["responses"][str(status)] = _response(
            status, (each.problem if status != 503 else _unready(each),)
        )
    return operation


def _unready(each: Endpoint) -> Answer:
    return next(iter(_models(each))) if each.path == "/readyz" else each.problem


def _response(status: int, answers: tuple[Answer, ...]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for answer in answers:
        if isinstance(answer, str):
            # JSON without a model is another maker's: theirs say what it has.
            content[answer] = {"schema": {} if answer.endswith("json") else {"type": "string"}}
        elif answer is not None:
            content["application/json"] = {"schema": {"$ref": REFERENCE.format(model=answer.__name__)}}
    response: dict[str, Any] = {"description": MEANING[status]}
    return {**response, "content": content} if content else response


def _path_parameters(each: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": PATTERNS.get(name, ID_PATTERN)},
        }
        for name in re.findall(r"{(\w+)}", each.template)
    ]


def _query_parameters(each: Endpoint) -> list[dict[str, Any]]:
    if each.query is None:
        return []
    schema = each.query.model_json_schema(by_alias=False)
    return [
        {"name": name.rstrip("_"), "in": "query", "required": False, "schema": _plain(field)}
        for name, field in schema["properties"].items()
    ]


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is absent rather than null."""
    choices = [choice for choice in field.get("anyOf", []) if choice != {"type": "null"}]
    rest = {
        key: value
        for key, value in field.items()
        if key != "anyOf" and not (key == "default" and value is None)
    }
    return {**choices[0], **rest} if choices else rest


def _header_parameters(each: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": description,
            "schema": {"type": "string"},
        }
        for name, description in each.headers.items()
    ]
