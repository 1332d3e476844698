"""No table that names a person is forgotten by export and erasure."""

import re
from typing import Any

import pytest
from sqlalchemy import Column

from gateway.storage import schema
from gateway.storage.memories import schema as memory_schema
from gateway.storage.persons.tables import ACTORS, ELSEWHERE, PERSONAL
from gateway.storage.sessions.purges import REMOVE_LONG, REMOVE_SHORT

NAMES_SOMEBODY = re.compile(
    r"owner|user_id|.*_user|user|person|actor|.*_by|subject_id|member|members|principal"
)
"""Names of columns that have the id of a user. A new one is to be called like one of these."""
OF_SESSIONS = {"heads", "outbox", "loose_events", "event_packs", "messages", "purges"}
"""Rows of sessions, which name nobody and go with them."""
NOBODY = {
    "doubtful_blobs": "paths of blobs, which go with what they belong to",
    "audit_removals": "times",
    "encryption_keys": "the gateway's own",
    "installation_secrets": "the gateway's own",
    "mcp_sign_ins": "the gateway's own",
}
OF_MEMORIES = {
    "memories.user_id": "erased, or renamed where it is a household's",
    "memory_versions.actor": "renamed, with the row that it keeps",
    "memory_evidence.user_id": "erased",
    "erasures.owner": "erased",
    "profiles.actor": "renamed",
    "held_users.user_id": "a copy of the holds: while there is one nobody is erased",
    "memories.owner_type": "a kind",
    "memories.superseded_by": "another memory",
    "memories.owner_id": "goes with the memory",
}
"""What `memories/persons.py` does with each column."""


def name_of(column: Column[Any]) -> str:
    return f"{column.table.name}.{column.name}"


def naming(metadata: Any) -> list[Column[Any]]:
    return [
        column
        for table in metadata.sorted_tables
        for column in table.c
        if NAMES_SOMEBODY.fullmatch(str(column.name))
    ]


def test_every_column_that_names_somebody_is_looked_after() -> None:
    """A table is removed with the person, or a pseudonym takes their place in it, or it is said why not. Who
    adds one has to add it to `storage/persons/tables.py`, and so to exports and erasures."""
    known = {name_of(each.whose) for each in PERSONAL} | {name_of(each) for each in (*ACTORS, *ELSEWHERE)}

    assert {name_of(column) for column in naming(schema.metadata)} - known - {"sessions.title_by"} == set()
    assert known <= {name_of(column) for column in naming(schema.metadata)}, "no longer in the schema"


def test_every_table_belongs_to_somebody_to_a_session_or_to_nobody() -> None:
    """What names nobody is a session's, and removed with it, or stands here with the reason."""
    others = {name_of(each).partition(".")[0] for each in (*ACTORS, *ELSEWHERE)}
    named = {each.name for each in PERSONAL} | others
    tables = {str(table.name): table for table in schema.metadata.sorted_tables}
    with_session = {name for name, table in tables.items() if "session_id" in table.c}

    assert set(tables) - named - with_session - OF_SESSIONS == set(NOBODY)
    # Artifacts and purges go in another way.
    assert len(REMOVE_SHORT) + len(REMOVE_LONG) + 2 == len(with_session)


def test_every_column_of_the_memories_that_names_somebody_is_looked_after() -> None:
    columns = {name_of(column) for column in naming(memory_schema.metadata)}

    assert columns - set(OF_MEMORIES) == set()


@pytest.mark.parametrize("personal", PERSONAL, ids=lambda each: each.name)
def test_what_looks_like_a_secret_is_in_no_export(personal: Any) -> None:
    """By the names of columns: secrets, and hashes of keys."""
    if not personal.is_exported:
        return
    shown = {str(column.name) for column in personal.table.c} - personal.secret

    assert shown & {"secret", "key", "token", "password", "ciphertext", "mark"} == set()
    assert "digest" not in shown or personal.name == "client_calls"
