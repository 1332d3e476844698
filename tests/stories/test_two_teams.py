"""Two teams of two people each, an admin and a service, at a gateway with accounts: what each may do, and
what the audit tells. The identity provider is a real one, and people sign in as browsers do."""

from collections.abc import Generator

import pytest

from tests.harness import events, running_gateway, text_of, the
from tests.identity_provider import provider_process
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.teams import OWN, PEOPLE, audit_of, browsers, given, sign_in

pytestmark = [pytest.mark.anyio, pytest.mark.long]


@pytest.fixture(scope="module")
def provider() -> Generator[str]:
    with provider_process(**PEOPLE) as url:
        yield url


@on_both_engines
async def test_two_teams_work_beside_each_other(settings: Settings, provider: str) -> None:
    """They sign in, chat, share a project, and see what is theirs; a service acts for people of its team.
    Keys are made and revoked; the admin reads nobody's conversations; the audit has each step."""
    async with running_gateway(given(settings, provider)) as client, browsers(client) as people:
        ada, ben, cleo, dan, olga, guest = (people[name] for name in PEOPLE)
        assert (await ada.get("/api/sessions")).status_code == 401
        for person in (ada, ben, cleo, dan, olga):
            answer = await sign_in(person)
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await sign_in(guest)).status_code == 401
        assert [
            (me["user_id"], me["tenant"], me["is_admin"])
            for me in [(await each.get("/api/me")).json() for each in (ada, cleo, olga)]
        ] == [("red/ada", "red", False), ("blue/cleo", "blue", False), ("olga", "default", True)]

        sessions: dict[str, str] = {}
        for person in (ada, ben, cleo, dan):
            seen = await person.chat(f"/say only for {person.name}")
            assert (the(seen, "done")["status"], text_of(seen)) == ("completed", f"only for {person.name}")
            sessions[person.name] = seen[0]["session_id"]
        for person in (ada, ben, cleo, dan, olga):
            listed = (await person.get("/api/sessions")).json()["sessions"]
            own = [sessions[person.name]] if person.name in sessions else []
            assert [each["id"] for each in listed] == own
            for name, session in sessions.items():
                expected = 200 if name == person.name else 404
                assert (await person.get(f"/api/sessions/{session}")).status_code == expected

        made = (
            await olga.post("/api/keys", {"name": "desk", "user": "desk", "tenant": "red", "role": "service"})
        ).json()
        service = {"authorization": f"Bearer {made['key']}"}
        asked = await client.all_frames(
            "/api/chat", {"message": "/say from the desk"}, service | {"x-user-id": "eva"}
        )
        assert text_of(events(asked)) == "from the desk"
        assert (await client.get("/api/sessions", **service)).status_code == 400
        assert (await client.get("/api/audit", **service, **{"x-user-id": "eva"})).status_code == 403

        read_only = (await ada.post("/api/keys", {"name": "report", "scopes": ["read"]})).json()
        report = {"x-api-key": read_only["key"]}
        assert (await client.get(f"/api/sessions/{sessions['ada']}", **report)).status_code == 200
        assert (await client.post("/api/chat", {"message": "hi"}, **report)).status_code == 403
        assert (await ben.delete(f"/api/keys/{read_only['id']}")).status_code == 404
        assert (await ada.delete(f"/api/keys/{read_only['id']}")).status_code == 204
        assert (await client.get("/api/me", **report)).status_code == 401

        project = (await ada.post("/api/projects", {"name": "Apollo"})).json()["id"]
        members = f"/api/projects/{project}/members"
        added = await ada.browser.http.put(f"{members}/ben", json={"role": "reader"}, headers=OWN)
        assert added.is_success, added.text
        assert (await ben.post(f"/api/invitations/{project}/accept", {})).status_code == 200
        shared = {"project_id": project, "shared": "read"}
        path = f"/api/sessions/{sessions['ada']}"
        assert (await ada.browser.http.patch(path, json=shared, headers=OWN)).status_code == 200
        assert [(await each.get(path)).status_code for each in (ben, cleo, olga)] == [200, 404, 404]
        assert "only for ada" in (await ben.get(f"{path}/messages")).text
        refused = await ben.post(f"{path}/turns", {"message": "/say mine"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "session_read_only")
        assert (await cleo.post(f"{path}/turns", {"message": "/say mine"})).status_code == 404
        editor = {"role": "editor"}
        assert (await ada.browser.http.put(f"{members}/ben", json=editor, headers=OWN)).is_success
        written = {"shared": "write"}
        assert (await ada.browser.http.patch(path, json=written, headers=OWN)).status_code == 200
        assert (await ben.post(f"{path}/turns", {"message": "/say written by ben"})).status_code == 202
        assert (await cleo.post(f"{path}/turns", {"message": "/say mine"})).status_code == 404
        assert (await ada.delete(f"{members}/ben")).is_success
        assert (await ben.get(path)).status_code == 404

        other_site = await ada.browser.post("/api/sessions", {}, **{"sec-fetch-site": "cross-site"})
        assert other_site.status_code == 403
        assert (await ada.get("/api/audit")).status_code == 403
        assert (await ada.post("/auth/sign-out")).status_code == 200
        assert (await ada.get("/api/me")).status_code == 401

        red, blue, all_of_default = await audit_of(olga)

    assert [each for each in red if each[1] == "sign_in.create"] == [
        ("red/ada", "sign_in.create", None, "done"),
        ("red/ben", "sign_in.create", None, "done"),
    ]
    for actor, action, subject, result in (
        ("red/ada", "turn.start", sessions["ada"], "done"),
        ("red/desk.eva", "turn.start", events(asked)[0]["session_id"], "done"),
        ("red/ada", "key.create", read_only["id"], "done"),
        ("red/ada", "key.use", read_only["id"], "done"),
        ("red/ada", "turn.start", None, "refused:forbidden"),
        ("red/ben", "key.revoke", read_only["id"], "refused:key_not_found"),
        ("red/ada", "project.create", project, "done"),
        ("red/ada", "session.change", sessions["ada"], "done"),
        ("red/ben", "turn.start", sessions["ada"], "refused:session_read_only"),
        ("red/ben", "turn.start", sessions["ada"], "done"),
        ("red/ada", "key.revoke", read_only["id"], "done"),
        ("red/ada", "access", "GET /api/audit", "refused:forbidden"),
        ("red/ada", "sign_in.end", None, "done"),
    ):
        assert any((actor, action, result) == (each[0], each[1], each[3]) for each in red), (actor, action)
        assert subject is None or any(each[2] == subject for each in red), (action, subject)
    assert {each[0] for each in blue} <= {"blue/cleo", "blue/dan"}
    assert ("olga", "key.create", made["id"], "done") in all_of_default
    assert "only for" not in str([red, blue, all_of_default])
