"""Records what requests do, by the route table: no handler has to."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.auth import DEFAULT_TENANT, Principal
from gateway.auth.operations import OPERATIONS, Operation
from gateway.errors import GatewayError
from gateway.http.endpoint import Endpoint
from gateway.http.error_responses import refusal
from gateway.ids import now_ms
from gateway.service.audit import AuditRecorder
from gateway.storage.audit import AuditEntry

ACCESS = "access"
"""The action of what is refused and would only have read, or was refused before it was known what it is."""
RIGHTS = frozenset(
    {
        *("auth", "grant", "group", "hold", "household", "key", "limit", "member", "person", "project"),
        *("provider_key", "retention", "role", "secret", "share", "sign_in", "tenant", "user"),
    }
)
"""Subjects of actions that change who may do what: these are stored before the answer leaves, as is all that
only admins may do."""
REFUSED = frozenset({401, 403, 429})
"""Answers that are recorded whatever was asked for."""
_NAME = re.compile(r"[A-Za-z0-9_.:/@-]{1,200}")


class Audit:
    """Around who asks, so that refusals are seen: an entry for each request that changes something, takes
    whole sessions out, or may not; and for the first use of a key on a day."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        recorder: AuditRecorder = scope["app"].state.audit
        is_recorded, is_replaced = False, False

        async def recording(message: Message) -> None:
            nonlocal is_recorded, is_replaced
            if message["type"] == "http.response.start" and not is_recorded:
                is_recorded = True
                try:
                    await _record(recorder, scope, message["status"], Headers(raw=message["headers"]))
                except GatewayError as error:  # what cannot be recorded is not answered as if it were
                    is_replaced = True
                    await refusal(scope, error)(scope, receive, send)
            if not is_replaced:
                await send(message)

        try:
            await self._app(scope, receive, recording)
        except BaseException:
            for operation in () if is_recorded else _audited(scope):  # it may be done all the same
                await recorder.record(_entry(scope, operation, "failed:no_answer", Headers()))
            raise


async def _record(recorder: AuditRecorder, scope: Scope, status: int, headers: Headers) -> None:
    """Raises errors.StorageError: it could not be stored."""
    principal: Principal | None = scope.get("principal")
    if principal is not None and principal.key_id is not None:
        await recorder.used_key(principal, _address(scope))
    result, code = "done", scope.get("refused", status if status >= 400 else None)
    if code is not None:
        result = f"{'refused' if status < 500 else 'failed'}:{code}"
    audited = _audited(scope)
    for operation in audited:
        await recorder.record(
            _entry(scope, operation, result, headers), now=result == "done" and _is_of_rights(operation)
        )
    if not audited and status in REFUSED:
        await recorder.record(_entry(scope, None, result, headers))


def _audited(scope: Scope) -> Sequence[Operation]:
    """The operations of a request that are audited: what its route is for, and what its handler asked for."""
    endpoint = scope.get("endpoint")
    if not isinstance(endpoint, Endpoint):
        return ()
    names = dict.fromkeys((endpoint.operation, *scope.get("operations", ())))
    return [each for name in names if (each := OPERATIONS[name]).action is not None]


def _is_of_rights(operation: Operation) -> bool:
    return operation.needs == "admin" or (operation.action or "").partition(".")[0] in RIGHTS


def _entry(scope: Scope, operation: Operation | None, result: str, headers: Headers) -> AuditEntry:
    """`operation` None: it only reads, or is not known."""
    who: Principal | None = scope.get("principal")
    action = operation.action if operation is not None else None
    kind, id_ = _subject(scope, action, headers) if action else _route(scope)
    return AuditEntry(
        now_ms(),
        who.tenant if who else DEFAULT_TENANT,
        who.user_id if who else None,
        who.key_id if who else None,
        _address(scope),
        action or ACCESS,
        kind,
        id_,
        result,
        scope.get("request_id"),
    )


def _route(scope: Scope) -> tuple[str | None, str | None]:
    endpoint = scope.get("endpoint")
    return (
        ("route", f"{endpoint.method} {endpoint.template}")
        if isinstance(endpoint, Endpoint)
        else (None, None)
    )


def _subject(scope: Scope, action: str, headers: Headers) -> tuple[str | None, str | None]:
    """To what it was done: what the handler said, else what the path names last, else what was made."""
    if "audit_subject" in scope:
        return scope["audit_subject"]
    of_action = action.partition(".")[0]
    params: Mapping[str, Any] = scope.get("path_params", {})
    if ids := [name for name in params if name.endswith("_id")]:
        found = ids[-1].removesuffix("_id"), str(params[ids[-1]])
    elif params:
        found = of_action, str(list(params.values())[-1])
    elif session_id := headers.get("x-session-id"):
        found = "session", session_id
    else:
        found = of_action, headers.get("location", "").rpartition("/")[2]
    return found if _NAME.fullmatch(str(found[1])) else (found[0], None)


def _address(scope: Scope) -> str | None:
    return scope["client"][0] if scope.get("client") else None
