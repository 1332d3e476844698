"""Requests made from the OpenAPI document, well-formed and broken, and what is wrong with the answers."""

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jsonschema
import orjson
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from jsonschema.exceptions import best_match
from schemathesis.generation import GenerationMode

from gateway.http.openapi import openapi
from gateway.http.requests import NDJSON
from tests.api.route_samples import ROUTES
from tests.loopback import TIMEOUT

UNCHECKED = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
MAX_READ = 4_000_000
"""Bytes of an answer that are held against its schema."""
ANY_PATH = frozenset({"404", "405"})
"""What a path may answer that is none of the document's, as made of a parameter with a slash in it."""

schemathesis.serializer.alias(NDJSON, "text/plain")


@dataclass(slots=True)
class Found:
    """What came of all requests: how many had each status, and what is wrong with which."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        told = ", ".join(f"{status}: {times:,}" for status, times in sorted(self.statuses.items()))
        return f"{self.statuses.total():,} requests ({told}), {len(self.problems)} wrong"


def bombard(url: str, examples: int, headers: Mapping[str, str] | None = None) -> Found:
    """Sends for each route so many requests by its description, and so many against it, with these headers.
    An answer must not be a 5xx, and its status, media type and JSON must be those of the description."""
    document = openapi(ROUTES)
    loaded = schemathesis.openapi.from_dict(document)
    found = Found()
    with httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False) as http:
        for result in loaded.get_all_operations():
            operation: Any = result.ok()  # pyright: ignore[reportAttributeAccessIssue] - a document without faults
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

                @settings(max_examples=examples, deadline=None, suppress_health_check=UNCHECKED)
                @given(operation.as_strategy(generation_mode=mode))
                def send(case: Any) -> None:
                    _send(http, document, case, found)

                with contextlib.suppress(Unsatisfiable):
                    send()
    return found


def _send(http: httpx2.Client, document: dict[str, Any], case: Any, found: Found) -> None:
    asked = case.as_transport_kwargs(base_url=str(http.base_url))
    sent = {"params": asked.get("params"), "headers": asked.get("headers")}
    names = {"json": "json", "content": "content", "data": "content"}
    body = {names[name]: asked[name] for name in names if asked.get(name) is not None}
    too_long = contextlib.suppress(httpx2.InvalidURL)  # for this client to send
    with too_long, http.stream(case.method, asked["url"], **sent, **body) as response:
        found.statuses[response.status_code] += 1
        if (wrong := _wrong(document, case, response)) is not None:
            found.problems.append(f"{case.method} {asked['url']} {sent} {body}: {wrong}"[:2_000])


def _wrong(document: dict[str, Any], case: Any, response: httpx2.Response) -> str | None:
    described = document["paths"][case.operation.path][case.method.lower()]["responses"]
    status = str(response.status_code)
    if response.status_code >= 500:
        return f"{status} {response.read()[:300]!r}"
    if status not in described:
        return None if status in ANY_PATH else f"{status} is not described: {response.read()[:300]!r}"
    return _unlike(described[status].get("content", {}), document["components"], response)


def _unlike(content: dict[str, Any], components: Any, response: httpx2.Response) -> str | None:
    """In what an answer differs from its description."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    if content and kind not in content and "*/*" not in content:
        return f"{response.status_code} of {kind or 'no type'}, not {', '.join(content)}"
    if kind != "application/json" or kind not in content or len(data := response.read()) > MAX_READ:
        return None
    validator = jsonschema.Draft202012Validator(content[kind].get("schema", {}) | {"components": components})
    error = best_match(validator.iter_errors(orjson.loads(data)))
    return None if error is None else f"{response.status_code}: {error.json_path} {error.message[:200]}"
