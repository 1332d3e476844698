"""People of a project who share sessions, at a gateway with keys."""

import re
from typing import Any

import httpx2
from pydantic import SecretStr

from tests.harness import Client, events

Headers = dict[str, str]
ROOT = {"x-api-key": "root-secret-0123456789"}
GUARDED: dict[str, Any] = {"api_keys": SecretStr("root:root-secret-0123456789"), "admins": ("root",)}


class Team:
    """Ada shares; Bob reads, Carl edits, Dora owns the project as well. Eve is of the same tenant and no
    member, Mallory of another one."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.of: dict[str, Headers] = {}
        self.project = ""
        self.ids: dict[str, str] = {}
        """Of sessions, by what their owners call them."""

    async def begin(self) -> "Team":
        for user in ("ada", "bob", "carl", "dora", "eve", "mallory"):
            tenant = "blue" if user == "mallory" else "red"
            body = {"name": "key", "user": user, "tenant": tenant}
            self.of[user] = {"x-api-key": (await self.client.post("/api/keys", body, **ROOT)).json()["key"]}
        made = await self.client.post("/api/projects", {"name": "Apollo"}, **self.of["ada"])
        self.project = made.json()["id"]
        for user, role in (("bob", "reader"), ("carl", "editor"), ("dora", "owner")):
            await self.put(user, role)
        return self

    async def put(self, user: str, role: str) -> None:
        path = f"/api/projects/{self.project}/members/{user}"
        assert (await self.ask("ada", "PUT", path, {"role": role})).status_code == 204
        accepted = await self.ask(user, "POST", f"/api/invitations/{self.project}/accept")
        assert accepted.status_code in {200, 404}, accepted.text  # 404: they are in already

    async def remove(self, user: str, by: str = "ada") -> None:
        path = f"/api/projects/{self.project}/members/{user}"
        assert (await self.ask(by, "DELETE", path)).status_code == 204

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        if (named := re.match(r"/api/(?:sessions|session/summary)/([\w-]+)", path)) is not None:
            path = path[: named.start(1)] + self.ids.get(named[1], named[1]) + path[named.end(1) :]
        return await self.client.http.request(method, path, json=body, headers=self.of[who])

    async def chat(self, who: str, message: str, session: str) -> list[dict[str, Any]]:
        body = {"message": message, "session_id": self.ids.get(session, session)}
        seen = events(await self.client.all_frames("/api/chat", body, self.of[who]))
        self.ids[session] = seen[0]["session_id"]
        return seen

    async def share(self, session: str, who: str = "ada", **changes: Any) -> httpx2.Response:
        given = {"project_id": self.project, "shared": "read"} | changes
        return await self.ask(who, "PATCH", f"/api/sessions/{session}", given)

    async def shared_chat(self, session: str = "s", message: str = "/say hello") -> str:
        """Ada's, with one turn, whose id comes out."""
        turn = (await self.chat("ada", message, session))[0]["turn_id"]
        shared = await self.share(session)
        assert shared.status_code == 200, shared.text
        return turn


def code(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
