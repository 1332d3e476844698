"""Which tables name persons, and what becomes of their rows: is exported, removed, or renamed.

`tests/storage/test_person_tables.py` holds this to the schema: a new table that names somebody has to be
here.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import Column, ColumnElement, Table, bindparam, select

from gateway.storage.schema import (
    api_keys,
    approvals,
    artifact_totals,
    artifact_uses,
    artifacts,
    audit,
    client_calls,
    holds,
    limit_counters,
    limit_holds,
    limit_rules,
    mcp_servers,
    person_erasures,
    project_invitations,
    project_members,
    projects,
    prompt_versions,
    provider_keys,
    retention_rules,
    saved_prompts,
    schedule_runs,
    schedules,
    session_totals,
    sessions,
    shared_links,
    side_calls,
    sign_ins,
    skill_switches,
    summaries,
    tool_grants,
    turns,
    webhook_deliveries,
    webhooks,
)

USER = bindparam("user_id")

Removal = Literal["rows", "session", "artifact", "renamed"]
"""How the rows of a person go: by themselves, with the session that they belong to, or with the artifact; or
they stay, under the pseudonym."""


class PersonalTable(NamedTuple):
    """A table with rows of persons: `whose` names the person, in the table itself or in the `parent` that its
    rows belong to (child's column, parent's). `secret` columns are never exported, `is_exported` says whether
    the rows are, or are in the export in another form."""

    table: Table
    whose: Column[Any]
    removal: Removal = "rows"
    is_exported: bool = True
    secret: frozenset[str] = frozenset()
    parent: tuple[Column[Any], Column[Any]] | None = None

    @property
    def name(self) -> str:
        return str(self.table.name)

    def of(self) -> ColumnElement[bool]:
        """Whether a row is the person's, by the parameter `user_id`."""
        if self.parent is None:
            return self.whose == USER
        child, parent = self.parent
        return child.in_(select(parent).where(self.whose == USER))


# In this order they are removed: what belongs to a row goes before it.
PERSONAL: tuple[PersonalTable, ...] = (
    PersonalTable(api_keys, api_keys.c.user_id, secret=frozenset({"digest"})),
    PersonalTable(provider_keys, provider_keys.c.user_id, secret=frozenset({"secret"})),
    PersonalTable(sign_ins, sign_ins.c.user_id, secret=frozenset({"digest"})),
    PersonalTable(schedule_runs, schedules.c.owner, parent=(schedule_runs.c.schedule_id, schedules.c.id)),
    PersonalTable(schedules, schedules.c.owner),
    PersonalTable(
        webhook_deliveries, webhooks.c.owner, parent=(webhook_deliveries.c.webhook_id, webhooks.c.id)
    ),
    PersonalTable(webhooks, webhooks.c.owner, secret=frozenset({"secret"})),
    PersonalTable(shared_links, shared_links.c.owner, secret=frozenset({"digest"})),
    PersonalTable(tool_grants, tool_grants.c.owner),
    PersonalTable(project_members, project_members.c.user_id),
    PersonalTable(project_invitations, project_invitations.c.user_id),
    PersonalTable(saved_prompts, saved_prompts.c.owner),
    PersonalTable(artifacts, artifacts.c.owner, "artifact", is_exported=False),
    PersonalTable(artifact_uses, artifact_uses.c.owner, "session", is_exported=False),
    PersonalTable(approvals, approvals.c.owner, "session"),
    PersonalTable(client_calls, client_calls.c.owner, "session"),
    PersonalTable(summaries, summaries.c.owner, "session", is_exported=False),
    PersonalTable(turns, turns.c.owner, "session", secret=frozenset({"input", "attachments", "mark"})),
    PersonalTable(sessions, sessions.c.owner, "session", is_exported=False),
    PersonalTable(artifact_totals, artifact_totals.c.owner, is_exported=False),
    PersonalTable(session_totals, session_totals.c.owner, is_exported=False),
    PersonalTable(side_calls, side_calls.c.owner),
    # They end with their period: an erasure must give no new budget.
    PersonalTable(limit_holds, limit_holds.c.user_id, "renamed", is_exported=False),
    PersonalTable(limit_counters, limit_counters.c.user_id, "renamed"),
)
"""What `secret` leaves out of the turns is in the export of their sessions."""

ACTORS: tuple[Column[Any], ...] = (
    api_keys.c.created_by,
    provider_keys.c.set_by,
    skill_switches.c.switched_by,
    projects.c.created_by,
    project_members.c.added_by,
    project_invitations.c.invited_by,
    retention_rules.c.changed_by,
    saved_prompts.c.created_by,
    holds.c.placed_by,
    person_erasures.c.requested_by,
    approvals.c.decided_by,
    mcp_servers.c.changed_by,
    limit_rules.c.changed_by,
    prompt_versions.c.changed_by,
)
"""Who did something to what is others', or everybody's: a pseudonym takes their place."""

ELSEWHERE: Mapping[Column[Any], str] = {
    audit.c.actor: "pseudonymised by storage/audit, which its triggers allow",
    audit.c.subject_id: "likewise, of what is done to a person",
    holds.c.owner: "while there is one nobody is erased",
    holds.c.subject_id: "likewise",
    person_erasures.c.person: "the pseudonym, once the erasure is done",
}
"""Columns that name persons and are looked after in another way."""

BY_NAME: Mapping[str, PersonalTable] = {each.name: each for each in PERSONAL}
