"""What is answered to somebody is kept by nobody, or apart from what is answered to others."""

import asyncio
from typing import Any

import pytest

from gateway.adapters.durable_streams import durable_streams_routes
from gateway.auth.identity_fields import caller_fields
from tests.api.route_samples import ROUTES, cases
from tests.api.test_identity_fields import GIVEN
from tests.api.test_route_matrix import KEYS, belongings, callers
from tests.harness import TIMEOUT, running_gateway
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = [pytest.mark.anyio, pytest.mark.long]

PROXIES = {name: GIVEN[name] for name in ("trusted_proxies", "proxy_tenant_header", "proxy_roles_header")}


def problem(headers: Any, fields: set[str]) -> str | None:
    """What is wrong with how an answer may be kept."""
    kept = headers.get("cache-control", "")
    if "no-store" in kept:
        return None
    varies = {each.strip().lower() for each in headers.get("vary", "").split(",")}
    if "private" not in kept or "public" in kept:
        return f"cache-control: {kept}"
    return None if fields <= varies else f"vary: {sorted(varies)}"


async def test_every_answer_to_somebody_is_kept_apart(settings: Settings) -> None:
    """Of every route that reads, with what is there and what is not: it says that nobody keeps it, or that it
    is private and varies by all that says who asks."""
    given = settings.model_copy(update={"api_keys": KEYS, "admins": ("root",), "memory": True, **PROXIES})
    fields = set(caller_fields(given))
    assert {"authorization", "cookie", "x-api-key", "x-user-id", "x-forwarded-user"} <= fields
    found = dict[str, str]()
    kept = set[str]()
    async with running_gateway(given, *Outbox().tools) as client, callers(client) as people:
        ada = people["ada"]
        ids = await belongings(client, people)
        for route in ROUTES:
            if route.method != "GET" or route.does.is_open:
                continue
            case = next(iter(cases(route)))
            for known in (ids, {kind: "x" + id_[1:] for kind, id_ in ids.items()}):
                request = case.request(known)
                async with asyncio.timeout(TIMEOUT), ada.http.stream(**request) as answer:
                    if (wrong := problem(answer.headers, fields)) is not None:
                        found[case.name] = wrong
                    if answer.status_code == 200 and "no-store" not in answer.headers["cache-control"]:
                        kept.add(route.path)
        client.app.state.begin_shutdown()

    assert found == {}
    assert kept >= {"/api/artifacts/{ref}", "/api/sessions"}


async def test_a_stream_is_kept_only_where_a_cache_can_tell_its_reader(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a key, not by a cookie or what a proxy says: browsers keep what they were answered with one, and the
    next person at this browser has another."""
    monkeypatch.setattr(durable_streams_routes, "CHUNK", 3)
    given = settings.model_copy(update={**GIVEN, "proxy_tenant_header": None})
    path = "/streams/sessions/s?offset=-1"
    async with running_gateway(given) as client:
        boss = {"x-api-key": "boss-secret-0123456789"}
        for who in (boss, {"x-forwarded-user": "ada", "x-forwarded-groups": "staff"}):
            await client.all_frames("/api/chat", {"message": "/say hi", "session_id": "s"}, who)
            answer = await client.get(path, **who)
            assert answer.status_code == 200
            assert ("max-age" in answer.headers["cache-control"]) == (who is boss)
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
