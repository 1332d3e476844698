"""Requests for each route of the table, made of it: with ids that somebody has, or with such as nobody has.

A new route is asked for by itself. A parameter of a path, an id in a body or a query, and a field that a body
must have are known here by their names: `Unsampled` says which is not, and what to add.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel

from gateway.adapters.adapter import switched_on
from gateway.api.url_table import ENDPOINTS
from gateway.auth import Scope
from gateway.auth.operations import OPERATIONS
from gateway.http.endpoint import Endpoint
from gateway.settings.value_types import ADAPTERS

ROUTES = [*ENDPOINTS, *(row for each in switched_on(ADAPTERS).values() for row in each.endpoints)]

KINDS: Mapping[str, str] = {
    "artifact": "ART-0000000000",
    "call": "toolu_" + "0" * 24,
    "client_call": "client_" + "0" * 24,
    "earlier_memory": "m_" + "3" * 16,
    "invitation": "p_" + "1" * 32,
    "invitation_2": "p_" + "2" * 32,
    "key": "0" * 16,
    "later_memory": "m_" + "4" * 16,
    "link": "ln_" + "0" * 16,
    "member": "mia",
    "memory": "m_" + "0" * 16,
    "memory_2": "m_" + "1" * 16,
    "memory_3": "m_" + "2" * 16,
    "parked": "t_" + "1" * 32,
    "parked_session": "s_" + "1" * 32,
    "project": "p_" + "0" * 32,
    "response": "resp_t_" + "0" * 32,
    "saved_prompt": "sp_" + "0" * 16,
    "schedule": "sch_" + "0" * 16,
    "session": "s_" + "0" * 32,
    "tool": "nothing",
    "turn": "t_" + "0" * 32,
    "user": "nobody",
    "waiting": "t_" + "2" * 32,
    "waiting_response": "resp_t_" + "2" * 32,
    "waiting_session": "s_" + "2" * 32,
    "webhook": "wh_" + "0" * 16,
}
"""What can be somebody's, with the form of its ids."""
IN_PATHS: Mapping[str, str] = {
    "chat_id": "session",
    "key_id": "key",
    "link_id": "link",
    "memory_id": "memory",
    "profile_id": "user",
    "project_id": "project",
    "ref": "artifact",
    "response_id": "response",
    "saved_prompt_id": "saved_prompt",
    "schedule_id": "schedule",
    "session_id": "session",
    "tool": "tool",
    "turn_id": "turn",
    "webhook_id": "webhook",
}
"""The kind of a parameter of a path …"""
OF_ROUTES: Mapping[str, Mapping[str, str]] = {
    "/approvals/{tool_call_id}": {
        "session_id": "parked_session",
        "turn_id": "parked",
        "tool_call_id": "call",
    },
    "/tool_results/{tool_call_id}": {
        "session_id": "waiting_session",
        "turn_id": "waiting",
        "tool_call_id": "client_call",
    },
    "/invitations/{project_id}": {"project_id": "invitation"},
    "/invitations/{project_id}/accept": {"project_id": "invitation_2"},
    "/members/{user}": {"user": "member"},
    "/v1/responses/{response_id}/cancel": {"response_id": "waiting_response"},
    "/erase": {"memory_id": "memory_2"},
    "/users/{user}/export": {"user": "user"},
    "/users/{user}/erasure": {"user": "user"},
    "/users/{user}/usage": {"user": "user"},
}
"""… which is another in paths that end so."""
SAME_FOR_ALL: Mapping[str, str] = {
    "branch": "0",
    "component": "nothing",
    "document_id": "d_0",
    "hold_id": "hold_0",
    "kind": "user",
    "model": "demo",
    "name": "nothing",
    "token": "nothing",
    "shared_prompt_id": "sp_0",
    "version": "1",
}
"""Parameters that are nobody's, or numbers within what the rest of the path names."""
FIELDS: Mapping[str, str] = {
    "attachments": "artifact",
    "conversation": "session",
    "earlierId": "earlier_memory",
    "id": "session",
    "laterId": "later_memory",
    "memoryId": "memory",
    "memoryIds": "memory",
    "messageId": "turn",
    "ownerId": "user",
    "parentTurnId": "turn",
    "previous_response_id": "response",
    "projectId": "project",
    "sessionId": "session",
    "threadId": "session",
    "turnId": "turn",
    "userId": "user",
}
"""The kind of a field of a body or a query. Those that end in Id or Ids are looked for here."""
NO_IDS = frozenset({"clientMessageId", "groupId", "roleId", "runId", "taskId", "toolCallId"})
"""Labels of the caller's own: they name nothing that is stored."""
LISTS = frozenset({"attachments", "memoryIds"})
MESSAGE = {"role": "user", "content": "/say hi"}
MESSAGES = [MESSAGE | {"id": "m1", "parts": [{"type": "text", "text": "/say hi"}]}]
REQUIRED: Mapping[str, Any] = {
    "after": 0,
    "action": "activate",
    "answer": "both",
    "confirm": "not their id",
    "content": "The sky is blue.",
    "decision": "approve",
    "edits": {},
    "enabled": True,
    "fields": {},
    "input": "/say hi",
    "jsonrpc": "2.0",
    "key": "sk-ant-sample-0123456789",
    "message": "/say hi",
    "messages": [MESSAGE],
    "state": "of no sign-in",
    "method": "tasks/get",
    "name": "n",
    "rating": "up",
    "reason": "n",
    "projects": [],
    "role": "reader",
    "rules": [],
    "server": "nothing",
    "status": "paused",
    "token": "of no link",
    "text": "Tell me of {{topic}}.",
    "url": "https://example.org/hook",
    "userMessage": "hi",
}
"""What a body has to have, by the names of fields."""
MORE: Mapping[str, Mapping[str, Any]] = {
    "A2aCall": {"id": 1, "method": "GetTask", "params": {"id": "{turn}"}},
    "ChatCompletionBody": {"model": "demo"},
    "ArtifactBody": {"text": "x"},
    "McpServerBody": {"url": "http://127.0.0.1/mcp"},
    "HoldBody": {"sessionId": "nowhere"},
    "McpMessage": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "MessagesBody": {"model": "demo", "max_tokens": 100},
    "ResponseBody": {"model": "demo"},
    "RetrieveBody": {"query": "green tea"},
    "RunBody": {"messages": MESSAGES},
    "ScheduleBody": {"cron": "0 8 1 1 *"},
    "SummaryBody": {"sessionId": "{session}"},
    "TimingBody": {"cron": "0 8 1 1 *"},
    "UiChatBody": {"messages": MESSAGES, "id": "{session}"},
    "MemoryPatch": {"summary": "The sky."},
    "ProjectChanges": {"name": "n"},
    "SessionChanges": {"pinned": True},
    "MergeBody": {"memoryIds": ["{memory}", "{memory_2}"]},
}
"""What it has beside that: {kind} is an id."""
QUERIES: Mapping[str, Mapping[str, str]] = {"EventsQuery": {"follow": "0"}, "ReplayQuery": {"speed": "max"}}
_APPROVAL = {"approve": True}
_CALL = "{parked}:{call}"
_CLIENT_CALL = "{waiting}:{client_call}"
_ASKED = {"id": "m1", "role": "user", "content": "/say hi"}
_ANSWERED = {"id": "{turn}-1", "role": "assistant", "content": "hi"}
_TOOL_MESSAGE = {"id": "m2", "role": "tool", "toolCallId": _CLIENT_CALL, "content": "here"}
_AG_UI = {"runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}


def _mcp(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _memory(**arguments: Any) -> dict[str, Any]:
    return _mcp("tools/call", name="manage_memory", arguments=arguments)


def _a2a(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _a2a_message(*parts: Mapping[str, Any], **more: str) -> dict[str, Any]:
    return _a2a("SendMessage", message={"messageId": "m1", "role": "ROLE_USER", "parts": [*parts], **more})


CARRIED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("/a2a", "approval.decide"): _a2a_message(
        {"data": {"approvals": [{"id": "{call}", "approved": True}]}}, taskId="{parked}"
    ),
    ("/a2a", "event.read"): _a2a("SubscribeToTask", id="{parked}"),
    ("/a2a", "turn.cancel"): _a2a("CancelTask", id="{parked}"),
    ("/a2a", "turn.read"): _a2a("GetTask", id="{turn}"),
    ("/a2a", "turn.start"): _a2a_message({"text": "/say hi"}, contextId="{session}"),
    ("/ag-ui", "approval.decide"): {
        **_AG_UI,
        "threadId": "{parked_session}",
        "messages": [],
        "resume": [{"interruptId": _CALL, "status": "resolved", "payload": {"approved": True}}],
    },
    ("/ag-ui", "tool_result.give"): {
        **_AG_UI,
        "threadId": "{waiting_session}",
        "messages": [_ASKED, _TOOL_MESSAGE],
    },
    ("/ag-ui", "turn.read"): {**_AG_UI, "threadId": "{session}", "messages": [_ASKED, _ANSWERED]},
    ("/ai-sdk/chat", "approval.decide"): {
        "id": "{parked_session}",
        "messages": [
            {
                "id": "{parked}",
                "role": "assistant",
                "parts": [
                    {
                        "type": "dynamic-tool",
                        "toolName": "send",
                        "toolCallId": "{call}",
                        "state": "approval-responded",
                        "providerExecuted": True,
                        "approval": {"id": _CALL, "approved": True},
                    }
                ],
            }
        ],
    },
    ("/ai-sdk/chat", "tool_result.give"): {
        "id": "{waiting_session}",
        "messages": [
            {
                "id": "{waiting}",
                "role": "assistant",
                "parts": [
                    {
                        "type": "dynamic-tool",
                        "toolName": "locate",
                        "toolCallId": "{client_call}",
                        "state": "output-available",
                        "output": "here",
                    }
                ],
            }
        ],
    },
    ("/ai-sdk/chat", "turn.regenerate"): {
        "id": "{session}",
        "messages": MESSAGES,
        "trigger": "regenerate-message",
        "messageId": "{turn}",
    },
    ("/mcp", "approval.decide"): _mcp(
        "tools/call",
        name="chat",
        arguments={},
        requestState="{parked}",
        inputResponses={"{call}": {"action": "accept", "content": _APPROVAL}},
    ),
    ("/mcp", "memory.change"): _memory(action="update", id="{memory}", importance=5),
    ("/mcp", "memory.confirm"): _memory(action="confirm", id="{memory}"),
    ("/mcp", "memory.create"): _memory(action="save", content="The sky is blue."),
    ("/mcp", "memory.delete"): _memory(action="delete", id="{memory_3}"),
    ("/mcp", "memory.list"): _memory(action="list", id="{memory}"),
    ("/mcp", "memory.read"): _mcp("resources/read", uri="memory:///{memory}"),
    ("/mcp", "memory.retrieve"): _memory(action="search", search="quetzal"),
    ("/mcp", "message.list"): _mcp("resources/read", uri="session:///{session}"),
    ("/mcp", "session.list"): _mcp("resources/list"),
    ("/mcp", "turn.read"): _mcp("tools/call", name="chat", arguments={"session_id": "{session}"}),
    ("/mcp", "turn.start"): _mcp(
        "tools/call", name="chat", arguments={"session_id": "{session}", "message": "/say hi"}
    ),
    ("/v1/chat/completions", "tool_result.give"): {
        "model": "demo",
        "messages": [MESSAGE, {"role": "tool", "tool_call_id": _CLIENT_CALL, "content": "here"}],
    },
    ("/v1/messages", "tool_result.give"): {
        "model": "demo",
        "max_tokens": 100,
        "messages": [
            MESSAGE,
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": _CLIENT_CALL, "content": "here"}],
            },
        ],
    },
    ("/v1/responses", "approval.decide"): {
        "model": "demo",
        "input": [{"type": "mcp_approval_response", "approval_request_id": _CALL, "approve": True}],
    },
    ("/v1/responses", "tool_result.give"): {
        "model": "demo",
        "input": [{"type": "function_call_output", "call_id": _CLIENT_CALL, "output": "here"}],
    },
    ("/v1/responses/{response_id}/cancel", "turn.read"): {},
}
"""How a route is asked to do what it carries beside its own operation, by its path."""
CARRIED_PARAMETERS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("/v1/responses/{response_id}/cancel", "turn.read"): {"response_id": "{response}"},
}
CARRIED_QUERIES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("/api/keys", "key.list_all"): {"everybody": "true"},
}
UPLOADS: Mapping[str, bytes] = {"application/x-ndjson": b"{}\n", "application/octet-stream": b"text"}


def nobodys() -> dict[str, str]:
    """Other ids, of the same forms, with each call."""
    return {kind: re.sub("[0-9]", lambda _: secrets.choice("0123456789"), id_) for kind, id_ in KINDS.items()}


class Unsampled(AssertionError):
    """A route with something of which there is no sample."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request of a route for an `operation`, its own or one that it carries; `field` is the id in its body
    or query that it is about."""

    route: Endpoint
    operation: str
    field: str | None
    parameters: Mapping[str, str]
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        more = f" with {self.field}" if self.field else ""
        return f"{self.operation} by {self.route.method} {self.route.template}{more}"

    @property
    def needs(self) -> frozenset[str]:
        """The scopes that the caller must have, all of them."""
        asked = (self.route.does, OPERATIONS[self.operation])
        return frozenset(each.needs for each in asked if each.needs is not None)

    def is_allowed(self, scopes: frozenset[str], tenant: str) -> bool:
        """As the table has it, for somebody who is known."""
        asked = (self.route.does, OPERATIONS[self.operation])
        return all(each.allows(cast("frozenset[Scope]", scopes), tenant) for each in asked)

    @property
    def kinds(self) -> frozenset[str]:
        """What it names that is somebody's."""
        text = str([self.parameters, self.query, self.body])
        return frozenset(kind for kind in KINDS if f"{{{kind}}}" in text)

    def is_begun(self, scopes: frozenset[str], tenant: str) -> bool:
        """Whether the route itself lets them in."""
        return self.route.does.allows(cast("frozenset[Scope]", scopes), tenant)

    def request(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of an HTTP client's `request`, with these ids by their kinds."""
        path = self.route.template.format(**self.parameters)
        in_path = {kind: quote(id_, safe="") for kind, id_ in ids.items()}
        made: dict[str, Any] = {"method": self.route.method, "url": _with(in_path, path)}
        made["params"] = _with(ids, dict(self.query))
        if self.body is not None:
            return made | {"json": _with(ids, dict(self.body))}
        if self.route.upload is not None:
            made |= {"content": UPLOADS[self.route.upload], "headers": {"content-type": self.route.upload}}
        return made


def cases(route: Endpoint) -> Iterator[Case]:
    """A request with what the route needs, and one more for each id that its body or query may have.
    Raises Unsampled."""
    parameters = {name: _parameter(route, name) for name in _names(route.template)}
    query = QUERIES.get(route.query.__name__, {}) if route.query else {}
    body = _body(route, route.body) if route.body else None
    yield Case(route, route.operation, None, parameters, query, body)
    for operation in route.carries:
        if operation != route.operation:
            yield _carried(route, operation, parameters, query)
    if route.query is not None:
        for field, value in _ids(route, route.query):
            yield Case(route, route.operation, field, parameters, {**query, field: value}, body)
    if route.body is not None and body is not None:
        for field, value in _ids(route, route.body):
            if field not in body:
                yield Case(route, route.operation, field, parameters, query, {**body, field: value})


def _carried(
    route: Endpoint, operation: str, parameters: Mapping[str, str], query: Mapping[str, Any]
) -> Case:
    where = (route.path, operation)
    if where in CARRIED_QUERIES:
        return Case(route, operation, None, parameters, CARRIED_QUERIES[where], None)
    if where not in CARRIED:
        raise Unsampled(
            f"{route.method} {route.path} carries {operation}: say in CARRIED of tests/api/route_samples.py "
            "how it is asked to."
        )
    parameters = CARRIED_PARAMETERS.get(where, parameters)
    return Case(route, operation, None, parameters, query, CARRIED[where] if route.body else None)


def _names(template: str) -> Iterator[str]:
    return (part.partition("}")[0] for part in template.split("{")[1:])


def _parameter(route: Endpoint, name: str) -> str:
    for end, kinds in OF_ROUTES.items():
        if route.template.endswith(end) and name in kinds:
            return f"{{{kinds[name]}}}"
    if name in IN_PATHS:
        return f"{{{IN_PATHS[name]}}}"
    if name in SAME_FOR_ALL:
        return SAME_FOR_ALL[name]
    raise Unsampled(
        f"{route.method} {route.path}: nothing is known of {{{name}}}. Say in tests/api/route_samples.py of "
        "which kind it is (IN_PATHS), and make one in tests/api/test_route_matrix.py, or that it is nobody's "
        "(SAME_FOR_ALL)."
    )


def _body(route: Endpoint, model: type[BaseModel]) -> dict[str, Any]:
    more = MORE.get(model.__name__, {})
    made: dict[str, Any] = {}
    for name in model.model_json_schema().get("required", []):
        if name in more:
            continue
        if name in FIELDS:
            made[name] = _value(name)
        elif name in REQUIRED:
            made[name] = REQUIRED[name]
        else:
            raise Unsampled(
                f"{route.method} {route.path}: its body needs {name}. Give a value in REQUIRED of "
                f"tests/api/route_samples.py, or in MORE for {model.__name__}."
            )
    return {**made, **more}


def _ids(route: Endpoint, model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name in model.model_json_schema()["properties"]:
        if name in FIELDS:
            yield name, _value(name)
        elif name.endswith(("Id", "Ids", "_id", "_ids")) and name not in NO_IDS:
            raise Unsampled(
                f"{route.method} {route.path}: nothing is known of the id {name}. Say of which kind it is in "
                "FIELDS of tests/api/route_samples.py, or that it is a label (NO_IDS)."
            )


def _value(field: str) -> Any:
    value = f"{{{FIELDS[field]}}}"
    return [value] if field in LISTS else value


def _with(ids: Mapping[str, str], value: Any) -> Any:
    if isinstance(value, str):
        for kind, id_ in ids.items():
            value = value.replace(f"{{{kind}}}", id_)
        return value
    if isinstance(value, dict):
        return {_with(ids, name): _with(ids, each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with(ids, each) for each in value]
    return value
