"""Saved prompts: texts that people keep for use.

A person's are seen by that person, a project's by its members, a tenant's by all its users.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection, and_, bindparam, case, delete, func, or_, select, update

from gateway.errors import Conflict, Forbidden, NotFound
from gateway.storage.database import OwnerLock, Prepared, Store, query, transaction
from gateway.storage.holds import check_not_held
from gateway.storage.row_codec import Rows
from gateway.storage.schema import project_members, saved_prompts

SavedPromptKind = Literal["prompt", "persona"]


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """A row of its own. prompt: a message to begin with, called by its `name`. persona: instructions for a
    session, and the `model` that answers there (None: any). It is its `owner`'s, or the project's, or with
    neither the tenant's. Times are in Unix milliseconds."""

    id: str
    kind: SavedPromptKind
    tenant: str
    owner: str | None
    project_id: str | None
    name: str
    title: str | None
    text: str
    model: str | None
    created_by: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class SavedPromptChanges:
    """What becomes of a saved prompt; None: that stays, "": it has none any more."""

    name: str | None = None
    title: str | None = None
    text: str | None = None
    model: str | None = None


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


class SavedPrompts(Store):
    """A prompt that somebody may not see is as absent as one that never was. Rights are checked in the
    transaction that writes."""

    @query
    def list(self, connection: Connection, user_id: str, tenant: str, *, limit: int) -> Sequence[SavedPrompt]:
        """All that the user may use, by kind and name: their own before the projects', then the tenant's."""
        rows = SEEN.all(connection, user_id=user_id, tenant=tenant, limit=limit)
        return [PROMPTS.read(row) for row in rows]

    async def add(self, prompt: SavedPrompt, *, most: int) -> None:
        """Adds a prompt. Raises errors.Conflict (too_many_saved_prompts: there are `most` of that person,
        project or tenant; name_taken), errors.NotFound (project_not_found), errors.Forbidden (read_only): its
        maker only reads in the project."""

        def work(connection: Connection) -> None:
            if prompt.project_id is not None:
                _check_writes(connection, prompt.project_id, prompt.created_by)
            what, whose = _whose(prompt)
            if COUNT[what].value(connection, whose=whose) >= most:
                raise Conflict(
                    f"There are {most} saved prompts already: delete one first.",
                    code="too_many_saved_prompts",
                )
            _check_name(connection, prompt)
            PROMPTS.add(connection, prompt)

        await self.database.write(work, over=OwnerLock(_whose(prompt)[1]))

    @transaction
    def change(
        self,
        connection: Connection,
        prompt_id: str,
        user_id: str,
        changes: SavedPromptChanges,
        at: int,
        *,
        tenant: str | None = None,
    ) -> SavedPrompt:
        """Changes it for its owner, or for who may write in its project, or with a `tenant` for an admin of
        that. Raises errors.NotFound (saved_prompt_not_found), errors.Forbidden (read_only), errors.Conflict
        (name_taken; legal_hold)."""
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

    @transaction
    def delete(
        self, connection: Connection, prompt_id: str, user_id: str, *, tenant: str | None = None
    ) -> None:
        """Removes it for the same; raises as `change`, but name_taken."""
        _changeable(connection, prompt_id, user_id, tenant)
        REMOVE.run(connection, prompt_id=prompt_id)
