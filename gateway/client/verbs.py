"""The verbs of the HTTP API, once for both clients."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx2

from ..errors import GatewayError

SILENCE_TIMEOUT = 60.0  # a stream carries a heartbeat every 15 s
CONNECT_TIMEOUT = 10.0
LOOPBACK = {"127.0.0.1", "::1", "localhost"}

Json = dict[str, Any]
Answer = TypeVar("Answer")


class Verbs(ABC, Generic[Answer]):
    """`Answer` is the JSON of a response, {} where it has none, or what gives that when it is awaited. What a
    verb takes beside its arguments are fields of the body, or of the query, as docs/api.md has them.

    Every verb raises RequestRefused with the server's own code and message, or Unreachable.
    """

    @abstractmethod
    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        is_repeatable: bool = False,
    ) -> Answer:
        """A request without a verb of its own. One that is repeatable is sent again when nobody knows what
        became of it."""

    def health(self) -> Answer:
        return self.ask("GET", "/healthz")

    # Sessions

    def create_session(self, **body: Any) -> Answer:
        return self.ask("POST", "/api/sessions", body)

    def sessions(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/sessions", query=query)

    def session(self, session: str) -> Answer:
        return self.ask("GET", _of(session))

    def change_session(self, session: str, **body: Any) -> Answer:
        return self.ask("PATCH", _of(session), body)

    def delete_session(self, session: str) -> Answer:
        return self.ask("DELETE", _of(session))

    def snapshot(self, session: str) -> Answer:
        return self.ask("GET", f"{_of(session)}/snapshot")

    def messages(self, session: str, **query: Any) -> Answer:
        return self.ask("GET", f"{_of(session)}/messages", query=query)

    def events(self, session: str, **query: Any) -> Answer:
        """A page of the log."""
        return self.ask("GET", f"{_of(session)}/events", query=query)

    def compress(self, session: str) -> Answer:
        return self.ask("POST", f"{_of(session)}/compress")

    def compressions(self, session: str) -> Answer:
        return self.ask("GET", f"{_of(session)}/compressions")

    # Turns

    def start_turn(self, session: str, message: str, **body: Any) -> Answer:
        """Starts a turn, once: what got lost on the way is sent again under the same client_message_id."""
        body = {"message": message, "client_message_id": uuid4().hex, **body}
        return self.ask("POST", f"{_of(session)}/turns", body, is_repeatable=True)

    def regenerate(self, session: str, turn: str, **body: Any) -> Answer:
        """Asks the message of a turn anew, in a branch of its own; once, as `start_turn`."""
        body = {"client_message_id": uuid4().hex, **body}
        return self.ask("POST", f"{_of(session)}/turns/{turn}/regenerate", body, is_repeatable=True)

    def turn(self, session: str, turn: str) -> Answer:
        return self.ask("GET", f"{_of(session)}/turns/{turn}")

    def turns(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/turns", query=query)

    def cancel(self, session: str, turn: str) -> Answer:
        """Stops a turn; one that is over stays as it is."""
        return self.ask("POST", f"{_of(session)}/turns/{turn}/cancel", is_repeatable=True)

    def give_feedback(
        self, session: str, turn: str, rating: Literal["up", "down", "none"], **body: Any
    ) -> Answer:
        return self.ask("POST", f"{_of(session)}/turns/{turn}/feedback", {"rating": rating, **body})

    def branches(self, session: str) -> Answer:
        return self.ask("GET", f"{_of(session)}/branches")

    def activate_branch(self, session: str, branch: int) -> Answer:
        return self.ask("POST", f"{_of(session)}/branches/{branch}/activate")

    # Calls that wait

    def approvals(self) -> Answer:
        return self.ask("GET", "/api/approvals")

    def decide(
        self, session: str, turn: str, call: str, decision: Literal["approve", "deny"], **body: Any
    ) -> Answer:
        path = f"{_of(session)}/turns/{turn}/approvals/{quote(call, safe='')}"
        return self.ask("POST", path, {"decision": decision, **body}, is_repeatable=True)

    def give_tool_result(self, session: str, turn: str, call: str, content: Any, **body: Any) -> Answer:
        """The result of a call that this client ran (`runs_on: client`)."""
        path = f"{_of(session)}/turns/{turn}/tool_results/{quote(call, safe='')}"
        return self.ask("POST", path, {"content": content, **body}, is_repeatable=True)

    # Schedules

    def schedules(self) -> Answer:
        return self.ask("GET", "/api/schedules")

    def create_schedule(self, message: str, **body: Any) -> Answer:
        return self.ask("POST", "/api/schedules", {"message": message, **body})

    def schedule(self, schedule: str) -> Answer:
        """With its last runs."""
        return self.ask("GET", f"/api/schedules/{quote(schedule, safe='')}")

    def change_schedule(self, schedule: str, status: Literal["active", "paused"]) -> Answer:
        path = f"/api/schedules/{quote(schedule, safe='')}"
        return self.ask("PATCH", path, {"status": status}, is_repeatable=True)

    def run_schedule(self, schedule: str) -> Answer:
        return self.ask("POST", f"/api/schedules/{quote(schedule, safe='')}/run")

    def delete_schedule(self, schedule: str) -> Answer:
        return self.ask("DELETE", f"/api/schedules/{quote(schedule, safe='')}")

    # Keys

    def keys(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/keys", query=query)

    def create_key(self, name: str, **body: Any) -> Answer:
        """The answer alone has the key."""
        return self.ask("POST", "/api/keys", {"name": name, **body})

    def revoke_key(self, key_id: str) -> Answer:
        return self.ask("DELETE", f"/api/keys/{quote(key_id, safe='')}")

    def projects(self) -> Answer:
        return self.ask("GET", "/api/projects")

    def project(self, project_id: str) -> Answer:
        return self.ask("GET", f"/api/projects/{quote(project_id, safe='')}")

    def create_project(self, name: str) -> Answer:
        return self.ask("POST", "/api/projects", {"name": name})

    def rename_project(self, project_id: str, name: str) -> Answer:
        return self.ask("PATCH", f"/api/projects/{quote(project_id, safe='')}", {"name": name})

    def change_project(self, project_id: str, **changes: Any) -> Answer:
        return self.ask("PATCH", f"/api/projects/{quote(project_id, safe='')}", changes)

    def arrange_projects(self, project_ids: Sequence[str]) -> Answer:
        """The order of the caller's list."""
        return self.ask("PUT", "/api/projects/order", {"projects": list(project_ids)})

    def saved_prompts(self) -> Answer:
        """The prompts and personas that the caller may use."""
        return self.ask("GET", "/api/saved-prompts")

    def save_prompt(self, name: str, text: str, **body: Any) -> Answer:
        return self.ask("POST", "/api/saved-prompts", {"name": name, "text": text, **body})

    def change_saved_prompt(self, prompt_id: str, **changes: Any) -> Answer:
        return self.ask("PATCH", f"/api/saved-prompts/{quote(prompt_id, safe='')}", changes)

    def delete_saved_prompt(self, prompt_id: str) -> Answer:
        return self.ask("DELETE", f"/api/saved-prompts/{quote(prompt_id, safe='')}")

    def delete_project(self, project_id: str) -> Answer:
        return self.ask("DELETE", f"/api/projects/{quote(project_id, safe='')}")

    def put_member(self, project_id: str, user: str, role: str) -> Answer:
        return self.ask("PUT", _member(project_id, user), {"role": role})

    def invitations(self) -> Answer:
        """The projects that the caller is asked into."""
        return self.ask("GET", "/api/invitations")

    def accept_invitation(self, project_id: str) -> Answer:
        return self.ask("POST", f"/api/invitations/{quote(project_id, safe='')}/accept")

    def decline_invitation(self, project_id: str) -> Answer:
        return self.ask("DELETE", f"/api/invitations/{quote(project_id, safe='')}")

    def remove_member(self, project_id: str, user: str) -> Answer:
        return self.ask("DELETE", _member(project_id, user))

    # Persons, for admins

    def erase_user(self, user: str, confirm: str, **query: Any) -> Answer:
        """Everything about them, for good; `confirm` is their id once more."""
        return self.ask("POST", f"{_user(user)}/erasure", {"confirm": confirm}, query=query)

    def user_erasure(self, user: str, **query: Any) -> Answer:
        """How far it is, or the report."""
        return self.ask("GET", f"{_user(user)}/erasure", query=query)

    def holds(self) -> Answer:
        return self.ask("GET", "/api/holds")

    def place_hold(self, reason: str, **body: Any) -> Answer:
        return self.ask("POST", "/api/holds", {"reason": reason, **body})

    def lift_hold(self, hold: str) -> Answer:
        return self.ask("DELETE", f"/api/holds/{quote(hold, safe='')}")

    def retention(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/retention", query=query)

    def set_retention(self, **body: Any) -> Answer:
        return self.ask("PUT", "/api/retention", body, is_repeatable=True)

    def preview_retention(self) -> Answer:
        """Returns what would be deleted and archived now."""
        return self.ask("GET", "/api/retention/preview")

    def provider_key(self, *, of_tenant: bool = False) -> Answer:
        """Never has the key."""
        return self.ask("GET", _provider_key(of_tenant))

    def set_provider_key(self, key: str, *, of_tenant: bool = False) -> Answer:
        return self.ask("PUT", _provider_key(of_tenant), {"key": key}, is_repeatable=True)

    def remove_provider_key(self, *, of_tenant: bool = False) -> Answer:
        return self.ask("DELETE", _provider_key(of_tenant))

    def rotate_secrets(self, after: str | None = None) -> Answer:
        """One slice; its `after`, where there is one, is that of the next."""
        return self.ask("POST", "/api/secrets/rotate", {"after": after} if after else {}, is_repeatable=True)

    # MCP servers

    def mcp_servers(self) -> Answer:
        return self.ask("GET", "/api/mcp/servers")

    def begin_mcp_sign_in(self, name: str, redirect_uri: str) -> Answer:
        """The answer's `url` is for a browser, which comes back to `redirect_uri`, an address on loopback."""
        return self.ask(
            "POST", f"/api/mcp/servers/{quote(name, safe='')}/sign-in", {"redirect_uri": redirect_uri}
        )

    def finish_mcp_sign_in(self, **came_back: Any) -> Answer:
        """`state`, `code`, `iss`, `error`: what the browser came back with."""
        return self.ask("POST", "/api/mcp/sign-ins", came_back)

    def end_mcp_sign_in(self, name: str) -> Answer:
        return self.ask("DELETE", f"/api/mcp/servers/{quote(name, safe='')}/sign-in", is_repeatable=True)

    # Webhooks

    def webhooks(self) -> Answer:
        return self.ask("GET", "/api/webhooks")

    def add_webhook(self, url: str, **body: Any) -> Answer:
        """The answer to this request alone has the secret."""
        return self.ask("POST", "/api/webhooks", {"url": url, **body})

    def change_webhook(self, webhook: str, *, enabled: bool) -> Answer:
        return self.ask("PATCH", _webhook(webhook), {"enabled": enabled}, is_repeatable=True)

    def test_webhook(self, webhook: str) -> Answer:
        return self.ask("POST", f"{_webhook(webhook)}/test")

    def deliveries(self, webhook: str, **query: Any) -> Answer:
        return self.ask("GET", f"{_webhook(webhook)}/deliveries", query=query)

    def replay_deliveries(self, webhook: str, delivery: str | None = None) -> Answer:
        """Sends a delivery again that ended, or all that are dead."""
        body = {} if delivery is None else {"delivery": delivery}
        return self.ask("POST", f"{_webhook(webhook)}/replay", body)

    def delete_webhook(self, webhook: str) -> Answer:
        return self.ask("DELETE", _webhook(webhook))

    # Memories, artifacts, skills

    def memories(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/memory", query=query)

    def memory(self, memory: str) -> Answer:
        return self.ask("GET", f"/api/memory/{memory}")

    def remember(self, content: str, **body: Any) -> Answer:
        return self.ask("POST", "/api/memory", {"content": content, **body})

    def change_memory(self, memory: str, **body: Any) -> Answer:
        return self.ask("PATCH", f"/api/memory/{memory}", body)

    def forget(self, memory: str) -> Answer:
        return self.ask("DELETE", f"/api/memory/{memory}")

    def artifacts(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/artifacts", query=query)

    def artifact_part(self, artifact: str, **query: Any) -> Answer:
        return self.ask("GET", f"/api/artifacts/{artifact}", query=query)

    def delete_artifact(self, artifact: str) -> Answer:
        return self.ask("DELETE", f"/api/artifacts/{artifact}")

    def prompt_components(self) -> Answer:
        return self.ask("GET", "/api/prompts")

    def prompt_versions(self, component: str, **query: Any) -> Answer:
        """The newest first; for the operator."""
        return self.ask("GET", _versions(component), query=query)

    def write_prompt(self, component: str, text: str | None, *, after: int, note: str = "") -> Answer:
        """None: the file holds again. `after` is the number of the newest version, 0 where there is none."""
        return self.ask("PUT", _versions(component), given({"text": text, "after": after, "note": note}))

    def skills(self, **query: Any) -> Answer:
        return self.ask("GET", "/api/skills", query=query)


def connection(url: str, key: str | None, user: str | None) -> dict[str, Any]:
    """The arguments that a client of httpx2 is made with. Raises GatewayError: that is no address."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise GatewayError(f"{url} is not an address such as http://127.0.0.1:8000.")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return {
        "base_url": url,
        "headers": headers | ({"x-user-id": user} if user else {}),
        "timeout": httpx2.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
        "trust_env": parts.hostname not in LOOPBACK,  # no proxy stands between this machine and itself
    }


def given(query: Mapping[str, Any] | None) -> dict[str, Any]:
    """A query without what has no value."""
    return {name: value for name, value in (query or {}).items() if value is not None}


def _user(user: str) -> str:
    return f"/api/users/{quote(user, safe='')}"


def _provider_key(of_tenant: bool) -> str:
    return "/api/tenant/provider-key" if of_tenant else "/api/provider-key"


def _versions(component: str) -> str:
    return f"/api/prompts/components/{quote(component, safe='')}/versions"


def _webhook(webhook: str) -> str:
    return f"/api/webhooks/{quote(webhook, safe='')}"


def _of(session: str) -> str:
    return f"/api/sessions/{quote(session, safe='')}"


def _member(project_id: str, user: str) -> str:
    return f"/api/projects/{quote(project_id, safe='')}/members/{quote(user, safe='')}"
