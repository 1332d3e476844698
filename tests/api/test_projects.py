"""Projects and their members over HTTP: two teams of two users each; nothing crosses between them."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from gateway.api.url_table import ENDPOINTS
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

ROOT = {"authorization": "Bearer root-secret-0123456789"}
GUARDED: dict[str, Any] = {"api_keys": SecretStr("root:root-secret-0123456789"), "admins": ("root",)}
Headers = dict[str, str]
TEAMS = (("red", "ada"), ("red", "bob"), ("blue", "ada"), ("blue", "eve"))


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        yield client


async def people(client: Client) -> list[Headers]:
    """Ada and Bob of the red team, Ada and Eve of the blue one: what they send to say so."""
    found: list[Headers] = []
    for tenant, user in TEAMS:
        made = await client.post("/api/keys", {"name": "key", "user": user, "tenant": tenant}, **ROOT)
        assert made.status_code == 201, made.text
        found.append({"authorization": f"Bearer {made.json()['key']}"})
    return found


async def asked(client: Client, method: str, path: str, who: Headers, body: Any = None) -> httpx2.Response:
    return await client.http.request(method, path, json=body, headers=who)


async def project_of(client: Client, who: Headers, name: str = "Apollo") -> str:
    made = await client.post("/api/projects", {"name": name}, **who)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/api/projects/{made.json()['id']}"
    return made.json()["id"]


async def seen_by(client: Client, project: str, who: Headers) -> dict[str, Any]:
    return (await client.get(f"/api/projects/{project}", **who)).json()


async def invited(client: Client, project: str, user: str, by: Headers, who: Headers) -> None:
    """Asks somebody in, who accepts."""
    path = f"/api/projects/{project}/members/{user}"
    assert (await asked(client, "PUT", path, by, {"role": "editor"})).status_code == 204
    assert (await client.post(f"/api/invitations/{project}/accept", **who)).status_code == 200


def code(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_an_owner_makes_a_project_and_adds_people_of_their_tenant(guarded: Client) -> None:
    """Names are those of the tenant: the other team's Ada is somebody else."""
    ada, bob, other_ada, _ = await people(guarded)
    project = await project_of(guarded, ada)
    for user, role in (("bob", "reader"), ("carl", "editor")):
        put = await asked(guarded, "PUT", f"/api/projects/{project}/members/{user}", ada, {"role": role})
        assert put.status_code == 204
        assert [each["user"] for each in (await seen_by(guarded, project, ada))["invited"]][-1] == user
    for who in (bob,):
        asked_in = (await guarded.get("/api/invitations", **who)).json()["invitations"]
        assert [(each["name"], each["invited_by"]) for each in asked_in] == [("Apollo", "ada")]
        assert (await guarded.get("/api/projects", **who)).json() == {"projects": []}
        assert (await guarded.post(f"/api/invitations/{project}/accept", **who)).status_code == 200

    seen = await seen_by(guarded, project, bob)

    assert (seen["name"], seen["kind"], seen["role"], seen["created_by"]) == (
        "Apollo",
        "project",
        "reader",
        "ada",
    )
    assert [(each["user"], each["role"]) for each in seen["members"]] == [("ada", "owner"), ("bob", "reader")]
    assert [(each["user"], each["invited_by"]) for each in seen["invited"]] == [("carl", "ada")]
    assert [each["id"] for each in (await guarded.get("/api/projects", **bob)).json()["projects"]] == [
        project
    ]
    assert (await guarded.get("/api/projects", **other_ada)).json() == {"projects": []}


async def test_a_household_of_an_earlier_client_is_a_project_as_others(guarded: Client) -> None:
    """Its `kind` is taken and says nothing: households of the memory are those of GATEWAY_HOUSEHOLDS."""
    ada, *_ = await people(guarded)

    made = await asked(guarded, "POST", "/api/projects", ada, {"name": "Home", "kind": "household"})

    assert (made.status_code, made.json()["kind"]) == (201, "project")
    (listed,) = (await guarded.get("/api/projects", **ada)).json()["projects"]
    assert (listed["name"], listed["kind"]) == ("Home", "project")


async def test_a_project_of_others_is_as_absent_as_one_that_never_was(guarded: Client) -> None:
    """On every route that names one: for another tenant, and for somebody of the same tenant who is not in
    it."""
    ada, bob, other_ada, eve = await people(guarded)
    project = await project_of(guarded, ada)
    bodies: dict[str, Any] = {"PATCH": {"name": "mine"}, "PUT": {"role": "owner"}}
    routes = [each for each in ENDPOINTS if each.path.startswith("/api/projects/{project_id}")]
    assert len(routes) == 5

    for route in routes:
        for who in (bob, other_ada, eve):
            answers: set[str] = set()
            for named in (project, "p_" + "0" * 32):
                path = route.path.format(project_id=named, user="eve")
                answer = await asked(guarded, route.method, path, who, bodies.get(route.method))
                assert code(answer) == (404, "project_not_found"), (route, answer.text)
                answers.add(answer.json()["error"]["message"].replace(named, "it"))
            assert len(answers) == 1

    kept = (await guarded.get(f"/api/projects/{project}", **ada)).json()
    assert (kept["name"], [each["user"] for each in kept["members"]]) == ("Apollo", ["ada"])


async def test_members_who_are_not_owners_change_nothing_and_may_leave(guarded: Client) -> None:
    ada, bob, *_ = await people(guarded)
    project = await project_of(guarded, ada)
    path = f"/api/projects/{project}"
    await invited(guarded, project, "bob", ada, bob)

    for method, where, body in (
        ("PATCH", path, {"name": "mine"}),
        ("DELETE", path, None),
        ("PUT", f"{path}/members/bob", {"role": "owner"}),
        ("DELETE", f"{path}/members/ada", None),
    ):
        assert code(await asked(guarded, method, where, bob, body)) == (403, "not_project_owner")
    assert code(await asked(guarded, "DELETE", f"{path}/members/ada", ada)) == (409, "last_owner")
    assert (await asked(guarded, "DELETE", f"{path}/members/bob", bob)).status_code == 204

    assert code(await asked(guarded, "GET", path, bob)) == (404, "project_not_found")
    assert code(await asked(guarded, "DELETE", f"{path}/members/bob", ada)) == (404, "member_not_found")


async def test_nobody_is_in_a_project_who_has_not_said_so(guarded: Client) -> None:
    """Who declines has nothing of it, and neither has somebody of another team, whatever they are called."""
    ada, bob, other_ada, _ = await people(guarded)
    project = await project_of(guarded, ada)
    path, answer = f"/api/projects/{project}/members/bob", f"/api/invitations/{project}"
    assert (await asked(guarded, "PUT", path, ada, {"role": "owner"})).status_code == 204

    assert code(await asked(guarded, "GET", f"/api/projects/{project}", bob)) == (404, "project_not_found")
    for stranger in (ada, other_ada):
        refused = await asked(guarded, "POST", f"{answer}/accept", stranger)
        assert code(refused) == (404, "invitation_not_found")
    assert (await asked(guarded, "DELETE", answer, bob)).status_code == 204

    assert code(await asked(guarded, "POST", f"{answer}/accept", bob)) == (404, "invitation_not_found")
    assert (await guarded.get("/api/invitations", **bob)).json() == {"invitations": []}
    assert (await seen_by(guarded, project, ada))["invited"] == []


async def test_a_project_is_renamed_and_deleted(guarded: Client) -> None:
    ada, *_ = await people(guarded)
    project = await project_of(guarded, ada)

    renamed = await asked(guarded, "PATCH", f"/api/projects/{project}", ada, {"name": "阿尔忒弥斯"})
    assert renamed.json()["name"] == "阿尔忒弥斯"
    assert (await asked(guarded, "DELETE", f"/api/projects/{project}", ada)).status_code == 204

    assert (await guarded.get("/api/projects", **ada)).json() == {"projects": []}


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "  "}, {"name": "\n\u202e"}, {"name": "a", "kind": "club"}]
)
async def test_a_name_has_something_to_see_and_a_kind_is_known(guarded: Client, body: dict[str, Any]) -> None:
    assert code(await guarded.post("/api/projects", body, **ROOT)) == (400, "invalid_request")


async def test_the_audit_tells_who_let_whom_in(guarded: Client) -> None:
    ada, *_ = await people(guarded)
    project = await project_of(guarded, ada)
    await asked(guarded, "PUT", f"/api/projects/{project}/members/bob", ada, {"role": "editor"})

    made = {"name": "key", "user": "chief", "tenant": "red", "role": "admin"}
    chief = (await guarded.post("/api/keys", made, **ROOT)).json()["key"]

    entries = (await guarded.get("/api/audit", **{"x-api-key": chief})).json()["entries"]

    told = {(each["action"], each.get("actor"), each.get("subject_id")) for each in entries}
    assert {
        ("project.create", "red/ada", project),
        ("project.put_member", "red/ada", f"{project}/bob"),
    } <= told
