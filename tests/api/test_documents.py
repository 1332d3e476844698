"""What the API says of itself: OpenAPI, JSON Schema, health, metrics, prompts."""

import asyncio
import re
from pathlib import Path

import httpx2
import jsonschema
import pytest

from gateway.adapters.adapter import switched_on
from gateway.api.url_table import ENDPOINTS
from gateway.auth.operations import OPERATIONS
from gateway.http.endpoint import Endpoint
from gateway.settings.value_types import ADAPTERS
from tests.harness import Client, running_gateway, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ROWS = [*ENDPOINTS, *(row for adapter in switched_on(ADAPTERS).values() for row in adapter.endpoints)]


async def test_the_openapi_document_lists_every_route(client: Client) -> None:
    """The document is made of the route table, so nothing can be missing from it."""
    document = (await client.get("/openapi.json")).json()

    listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(each.method, each.template) for each in ROWS} == listed


def test_a_route_that_changes_something_has_an_action_for_the_audit() -> None:
    """Each names an operation of the table, and those of other methods than GET are audited but for these,
    which only read, or say by each message what they do."""
    with pytest.raises(ValueError, match=r"GET /api/things does 'thing.read', which"):
        Endpoint(ROWS[0].handler, "GET", "/api/things", "thing.read", {})

    silent = {each.operation for each in ROWS if each.method != "GET" and each.does.action is None}

    assert silent == {
        *("a2a.call", "event.read", "link.open", "mcp.call", "mcp_prompt.fill", "memory.control"),
        *("memory.retrieve", "prompt.try_edits", "schedule.preview", "token.count"),
    }


def test_every_operation_has_a_door_and_is_named_as_the_audit_wants() -> None:
    """One that no route carries would be a right that nobody can use."""
    carried = {name for each in ROWS for name in (each.operation, *each.carries)}
    assert carried == OPERATIONS.keys()
    for each in OPERATIONS.values():
        assert re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", each.name)
        assert each.action in {None, each.name, each.name.partition("_")[2]}


async def test_every_event_fits_the_published_schema(client: Client) -> None:
    """A client that validates what it gets with the served JSON Schema accepts a real turn."""
    schema = (await client.get("/api/schema/events.json")).json()
    validator = jsonschema.Draft202012Validator(schema)

    for event in await client.chat("How do I resume a stream? And what is 2+2?"):
        validator.validate(event)


async def test_the_published_schemas_leave_room_for_later_fields(client: Client) -> None:
    """A client that validates by them goes on when a field is added, and takes an answer in which one without
    a value is left out."""
    events = (await client.get("/api/schema/events.json")).json()["$defs"]
    document = (await client.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    replies = {name for each in ROWS for answer in each.answers.values() for name in map(_name_of, answer)}

    assert [name for name, each in events.items() if each.get("additionalProperties") is False] == []
    assert "skill" in schemas["DocumentRow"]["required"]
    for name in replies & set(schemas):
        for field in schemas[name].get("required", []):
            assert {"type": "null"} not in schemas[name]["properties"][field].get("anyOf", []), (name, field)
    patterns = {
        (each["name"], each["schema"]["pattern"])
        for path in document["paths"].values()
        for operation in path.values()
        for each in operation["parameters"]
        if each["in"] == "path" and each["name"] in {"kind", "version", "branch"}
    }
    assert patterns == {
        ("kind", "^(user|household)$"),
        ("version", "^[0-9]{1,12}$"),
        ("branch", "^[0-9]{1,12}$"),
    }


async def test_health_and_readiness_tell_the_state(client: Client) -> None:
    """Ready while turns are taken; alive but not ready while draining."""
    before = [(await client.get(path)).status_code for path in ("/healthz", "/readyz")]
    client.app.state.begin_shutdown()
    await asyncio.sleep(0)
    after = [await client.get(path) for path in ("/healthz", "/readyz")]

    assert before == [200, 200]
    assert [response.status_code for response in after] == [200, 503]
    assert after[0].json()["status"] == "draining"


async def test_metrics_count_the_turn(client: Client) -> None:
    """A scrape after a turn shows it, by outcome."""
    await client.chat("/say hi")

    metrics = (await client.get("/metrics")).text

    assert re.search(r'gateway_turns_total\{[^}]*outcome="completed"[^}]*\} 1\.0', metrics)


async def test_an_edited_component_is_used_by_the_next_turn(tmp_path: Path, demo_url: str) -> None:
    """No restart: the file is read again when it changed, and the preview shows it."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    async with running_gateway(settings_for(tmp_path / "data", demo_url, prompts_dir=folder)) as client:
        first = (await client.get("/api/prompts")).json()
        (folder / "style.md").write_text("Answer in rhyme.")
        second = (await client.get("/api/prompts")).json()
        preview = (await client.get("/api/prompts/preview")).text

    assert first["prefix_hash"] != second["prefix_hash"]
    assert "Answer in rhyme." in preview


async def test_an_edit_of_a_component_is_tried_before_it_is_made(client: Client) -> None:
    """The prompt as it would be: with what is cut, and nothing of it in the prompt that is sent."""

    async def tried(**edits: str) -> httpx2.Response:
        return await client.post("/api/prompts/preview", {"edits": edits, "message": "hello"})

    before = (await client.get("/api/prompts/preview")).json()
    report = (await client.get("/api/prompts")).json()
    [style] = [each for each in report["components"] if each["name"] == "style"]
    long = f"Answer in rhyme.\n\n{'Be brief. ' * 10 * style['max_tokens']}"

    same = (await tried(style=style["text"])).json()
    edited = (await tried(style="Answer in rhyme.", identity=" ")).json()
    cut = (await tried(style=long)).json()
    left_out = (await tried(style="")).json()
    unknown = await tried(nothing="?")

    assert same["prefix_hash"] == before["prefix_hash"] != edited["prefix_hash"]
    assert "Answer in rhyme." in str(edited["layers"])
    assert "identity.md cannot be empty" in str(edited["warnings"])
    [part] = [part for layer in cut["layers"] for part in layer["parts"] if part["name"] == "style"]
    assert part["truncated"]
    assert part["tokens"] <= style["max_tokens"] < part["tokens_before"]
    assert "style" not in [part["name"] for layer in left_out["layers"] for part in layer["parts"]]
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, "invalid_request")
    assert (await client.get("/api/prompts")).json() == report


async def test_a_caller_is_told_who_it_is_and_what_it_may_choose(tmp_path: Path, demo_url: str) -> None:
    """Without keys the local user, who may all; with keys the key's, and an admin where that is one."""
    keys = "ada:secret-secret-secret,bob:another-another-one"
    guarded = settings_for(
        tmp_path / "guarded",
        demo_url,
        api_keys=keys,
        admins=["ada"],
        model="demo",
        allowed_models=["small"],
    )
    async with running_gateway(settings_for(tmp_path / "open", demo_url, model="demo")) as client:
        local = (await client.get("/api/me")).json()
    async with running_gateway(guarded) as client:
        nobody = await client.get("/api/me")
        ada, bob = [
            (await client.get("/api/me", **{"x-api-key": part.partition(":")[2]})).json()
            for part in keys.split(",")
        ]
        edits = {"edits": {"style": "Answer in rhyme."}}
        forbidden = await client.post("/api/prompts/preview", edits, **{"x-api-key": "another-another-one"})

    scopes = ["admin", "artifacts", "chat", "memory", "metrics", "read"]
    everything = {
        "tenant": "default",
        "scopes": scopes,
        "is_admin": True,
        "is_operator": True,
        "signed_in": False,
        "public_links": False,
    }
    assert local == everything | {
        "user_id": "local",
        "roles": ["admin"],
        "has_key": False,
        "models": ["demo"],
    }
    assert nobody.status_code == 401
    known = {"user_id": "ada", "roles": ["admin", "member"], "has_key": True, "models": ["demo", "small"]}
    assert ada == everything | known
    assert bob == ada | {
        "user_id": "bob",
        "roles": ["member"],
        "scopes": [each for each in scopes if each != "admin"],
        "is_admin": False,
        "is_operator": False,
    }
    assert (forbidden.status_code, forbidden.json()["error"]["code"]) == (403, "forbidden")


async def test_the_page_is_served_with_a_strict_policy(client: Client) -> None:
    """Nothing inline, nothing from elsewhere."""
    page = await client.get("/")

    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"


def _name_of(answer: object) -> str:
    return getattr(answer, "__name__", "")
