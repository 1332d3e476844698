"""Texts of clients: a NUL is refused on either engine, names and reasons are kept as they are seen."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from gateway.errors import TextRefused
from tests.api.route_samples import ROUTES, Case, cases, nobodys
from tests.harness import Client, running_gateway
from tests.postgres import database_in, on_both_engines, on_postgres
from tests.product import Settings, open_storage

pytestmark = pytest.mark.anyio

ROOT = {"x-api-key": "root-secret-0123456789"}
KEYS = {"api_keys": SecretStr("root:root-secret-0123456789"), "admins": ("root",)}
NUL = "a\x00b"
HIDDEN = "a\u202eb\u200b\u0007c\u2066d\U000e0041"
"""Characters that nobody sees, or that turn the others round."""


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=KEYS)) as client:
        yield client


def texts(model: type[BaseModel]) -> Iterator[str]:
    """The fields that take a text, as they are sent."""
    for name, described in model.model_json_schema()["properties"].items():
        kinds = [described, *described.get("anyOf", [])]
        if any(each.get("type") == "string" and "enum" not in each for each in kinds):
            yield name


def with_nul() -> Iterator[tuple[str, Case, dict[str, Any]]]:
    """A request for each text of each body and query, in which that has a NUL; and for each path."""
    for route in ROUTES:
        case = next(iter(cases(route)))
        request = case.request(nobodys())
        if "{" in route.template:
            yield f"{case.name} path", case, request | {"url": f"{request['url'].rpartition('/')[0]}/a%00b"}
        for name in texts(route.query) if route.query else ():
            yield f"{case.name} ?{name}", case, request | {"params": {**request["params"], name: NUL}}
        if route.body is not None and "json" in request:
            for name in texts(route.body):
                yield f"{case.name} {name}", case, request | {"json": {**request["json"], name: NUL}}


@on_both_engines
async def test_no_text_with_a_nul_is_a_failure_of_the_server(guarded: Client) -> None:
    """Of every route, whether the text is in the path, the query or the body: what is refused is the client's
    doing, and nobody is told to try it again. Client instructions are cleaned of it, as of all that cannot be
    seen."""
    wrong = dict[str, tuple[int, str]]()
    asked = 0
    for name, case, request in with_nul():
        headers = {**ROOT, "accept": "application/json", **request.pop("headers", {})}
        answer = await guarded.http.request(**request, headers=headers)
        asked += 1
        if answer.status_code >= 500 or '"retryable":true' in answer.text:
            wrong[name] = (answer.status_code, answer.text[:200])
        elif case.route.path.startswith("/api/") and answer.is_success and not name.endswith(" instructions"):
            wrong[name] = (answer.status_code, "taken")
    assert wrong == {}
    assert asked > 150


async def test_names_and_reasons_are_kept_as_they_are_seen(guarded: Client) -> None:
    """Everywhere in the same way; what has nothing to see is refused. Emoji that are joined stay whole."""
    family = "👨‍👩‍👧 1"

    async def kept(path: str, field: str, given: str, **body: Any) -> str | None:
        if path == "/api/holds":  # one on each session
            body = {"session_id": (await guarded.post("/api/sessions", {}, **ROOT)).json()["id"]}
        answer = await guarded.post(path, {field: given, **body}, **ROOT)
        assert answer.status_code in {201, 400}, answer.text
        return answer.json().get(field)

    made: list[tuple[str, str, dict[str, Any]]] = [
        ("/api/keys", "name", {}),
        ("/api/sessions", "title", {}),
        ("/api/projects", "name", {}),
        ("/api/schedules", "name", {"message": "hi", "cron": "0 8 1 1 *"}),
        ("/api/holds", "reason", {}),
    ]
    for path, field, body in made:
        assert await kept(path, field, HIDDEN, **body) == "abcd", path
        assert await kept(path, field, family, **body) == family, path
        assert await kept(path, field, "\u202e\u200b", **body) is None, path
        if field != "reason":
            assert await kept(path, field, "two\n lines", **body) == "two lines", path


async def test_a_reason_keeps_its_lines(guarded: Client) -> None:
    session = (await guarded.post("/api/sessions", {}, **ROOT)).json()["id"]
    answer = await guarded.post("/api/holds", {"reason": f"one\n{HIDDEN}", "session_id": session}, **ROOT)
    assert answer.json()["reason"] == "one\nabcd"


@on_postgres
async def test_a_text_that_the_database_refuses_is_not_tried_again(
    settings: Settings, tmp_path: Path, anyio_backend: str
) -> None:
    """Wherever it comes from, and whatever way it took past all checks."""
    given = settings.model_copy(update={"database_url": database_in(tmp_path)})
    async with open_storage(given) as storage:
        with pytest.raises(TextRefused) as refused:
            await storage.keys.find(NUL)
    assert not refused.value.retryable
