"""Saved prompts, in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, bindparam, case, delete, func, or_, select, update

from gateway.errors import Conflict, Forbidden, NotFound
from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.holds import check_not_held
from gateway.storage.row_codec import Rows
from gateway.storage.saved_prompts import SavedPrompt, SavedPromptChanges
from gateway.storage.schema import project_members, saved_prompts

_s, _m = saved_prompts.c, project_members.c
PROMPTS = Rows(SavedPrompt, saved_prompts)
_ID = _s.id == bindparam("prompt_id")
_mine = select(_m.project_id).where(_m.user_id == bindparam("user_id"))
_TENANTS = and_(_s.owner.is_(None), _s.project_id.is_(None), _s.tenant == bindparam("tenant"))
_order = case((_s.owner.is_not(None), 0), (_s.project_id.is_not(None), 1), else_=2)
SEEN = Prepared(
    select(*PROMPTS.columns)
    .where(or_(_s.owner == bindparam("user_id"), _s.project_id.in_(_mine), _TENANTS))
    .order_by(_order, _s.kind, _s.name, _s.id)
    .limit(bindparam("limit"))
)
ONE = Prepared(select(*PROMPTS.columns).where(_ID))
ROLE = Prepared(
    select(_m.role).where(_m.project_id == bindparam("project_id"), _m.user_id == bindparam("user_id"))
)
_OF = {
    "owner": _s.owner == bindparam("whose"),
    "project": _s.project_id == bindparam("whose"),
    "tenant": and_(_s.owner.is_(None), _s.project_id.is_(None), _s.tenant == bindparam("whose")),
}
COUNT = {
    name: Prepared(select(func.count()).select_from(saved_prompts).where(of)) for name, of in _OF.items()
}
NAMED = {
    name: Prepared(
        select(_s.id).where(of, _s.kind == bindparam("kind"), func.lower(_s.name) == bindparam("name"))
    )
    for name, of in _OF.items()
}
CHANGE = Prepared(
    update(saved_prompts)
    .where(_ID)
    .values({name: bindparam(name) for name in ("name", "title", "text", "model", "updated_at")})
)
REMOVE = Prepared(delete(saved_prompts).where(_ID))
REMOVE_OF_PROJECT = Prepared(delete(saved_prompts).where(_s.project_id == bindparam("project_id")))


def list_(connection: Connection, user_id: str, tenant: str, *, limit: int) -> Sequence[SavedPrompt]:
    rows = SEEN.all(connection, user_id=user_id, tenant=tenant, limit=limit)
    return [PROMPTS.read(row) for row in rows]


def add(connection: Connection, prompt: SavedPrompt, *, most: int) -> None:
    if prompt.project_id is not None:
        _check_writes(connection, prompt.project_id, prompt.created_by)
    what, whose = _whose(prompt)
    if COUNT[what].value(connection, whose=whose) >= most:
        raise Conflict(
            f"There are {most} saved prompts already: delete one first.", code="too_many_saved_prompts"
        )
    _check_name(connection, prompt)
    PROMPTS.add(connection, prompt)


def change(
    connection: Connection,
    prompt_id: str,
    user_id: str,
    changes: SavedPromptChanges,
    at: int,
    *,
    tenant: str | None = None,
) -> SavedPrompt:
    before = _changeable(connection, prompt_id, user_id, tenant)
    changed = replace(
        before,
        name=changes.name or before.name,
        title=before.title if changes.title is None else changes.title or None,
        text=changes.text or before.text,
        model=before.model if changes.model is None else changes.model or None,
        updated_at=at,
    )
    if changed.name.lower() != before.name.lower():
        _check_name(connection, changed)
    CHANGE.run(
        connection,
        prompt_id=prompt_id,
        name=changed.name,
        title=changed.title,
        text=changed.text,
        model=changed.model,
        updated_at=at,
    )
    return changed


def remove(connection: Connection, prompt_id: str, user_id: str, *, tenant: str | None = None) -> None:
    _changeable(connection, prompt_id, user_id, tenant)
    REMOVE.run(connection, prompt_id=prompt_id)


def _changeable(connection: Connection, prompt_id: str, user_id: str, tenant: str | None) -> SavedPrompt:
    """The prompt, which may be overwritten by who asks."""
    row = ONE.one(connection, prompt_id=prompt_id)
    prompt = PROMPTS.read(row) if row is not None else None
    if prompt is None or (tenant is not None) != (_whose(prompt)[0] == "tenant"):
        raise _not_there(prompt_id)
    if prompt.project_id is not None:
        try:
            _check_writes(connection, prompt.project_id, user_id)
        except NotFound:
            raise _not_there(prompt_id) from None
    elif (tenant is None and prompt.owner != user_id) or (tenant is not None and prompt.tenant != tenant):
        raise _not_there(prompt_id)
    if prompt.owner is not None:
        check_not_held(connection, prompt.owner)
    return prompt


def _check_writes(connection: Connection, project_id: str, user_id: str) -> None:
    role = ROLE.value(connection, project_id=project_id, user_id=user_id)
    if role is None:
        raise NotFound(f"There is no project {project_id}.", code="project_not_found")
    if role == "reader":
        raise Forbidden(
            "You only read in this project: ask an owner to make you an editor.", code="read_only"
        )


def _check_name(connection: Connection, prompt: SavedPrompt) -> None:
    what, whose = _whose(prompt)
    if NAMED[what].one(connection, whose=whose, kind=prompt.kind, name=prompt.name.lower()) is not None:
        raise Conflict(f"There is a {prompt.kind} {prompt.name} already.", code="name_taken")


def _whose(prompt: SavedPrompt) -> tuple[str, str]:
    if prompt.owner is not None:
        return "owner", prompt.owner
    return ("tenant", prompt.tenant) if prompt.project_id is None else ("project", prompt.project_id)


def _not_there(prompt_id: str) -> NotFound:
    return NotFound(f"There is no saved prompt {prompt_id} of yours.", code="saved_prompt_not_found")


def _added(prompt: SavedPrompt, *, most: int) -> OwnerLock:
    return OwnerLock(_whose(prompt)[1])


class SqlSavedPrompts(Store):
    """The `SavedPrompts` protocol."""

    list = reads(list_, snapshot=False)
    add = writes(add, over=_added)
    change = writes(change)
    delete = writes(remove)
