"""Memories: the values of store.py. A viewer sees a memory if its audience is one of the viewer's."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

OwnerType = Literal["user", "household", "role", "project", "task", "group", "session"]
MemoryType = Literal[
    "preference",
    "fact",
    "event",
    "summary",
    "project_decision",
    "user_preference",
    "discussion_conclusion",
    "action_item",
    "constraint",
    "risk",
    "feedback",
    "skill",
    "reference",
]
Visibility = Literal["private", "project", "global"]
Status = Literal["active", "suppressed", "frozen", "replaced"]
MemorySource = Literal["user", "model", "conversation", "skill", "import", "document"]
Origin = Literal["user", "confirmed", "model", "tool", "outside"]
"""Who stated a memory: the user, or the user confirmed it; the model, when it had read only the user and
trusted tools; a tool that suggested it; or the model after it had read something untrusted (`outside`)."""
ELSEWHERE: frozenset[Origin | None] = frozenset(("tool", "outside"))
"""Origins that are no wish of the user's."""
Operation = Literal[
    "remembered",
    "updated",
    "reinforced",
    "suppressed",
    "frozen",
    "activated",
    "replaced",
    "merged",
    "confirmed",
    "flagged",
    "deleted",
    "restored",
    "erased",
]
Author = Literal["user", "assistant"]
Relation = Literal["depends_on", "merged_from", "contradicts", "holds_beside"]
ProfileKind = Literal["user", "household"]

MAX_QUARANTINED = 100
"""Memories of one user in quarantine: so many may a tool make, whose room is not that of the others."""
ROWS_PER_LIVE = 2
"""There may be so many times as many memories of one user, frozen and replaced ones too, as may be live."""

MAX_TOOLS = 20
"""Tools that a memory names: those whose output the model had read when it was saved."""

MAX_VERSIONS = 100
"""Versions of one memory that are kept."""

RESTORABLE_FOR = 30 * 86_400_000
"""Milliseconds for which a deleted memory can be restored; then upkeep removes it."""

EVERYBODY = "everybody"
"""The audience of documents."""


class Scope(NamedTuple):
    """On whose behalf, and where, memories are looked at: the user in a role, a project and a session, as far
    as there are such. `households` are those the user is a member of. Where a task or a group is named, what
    is of other tasks or groups is not seen; where none is, all are."""

    user_id: str
    role_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None
    households: tuple[str, ...] = ()
    task_id: str | None = None
    group_id: str | None = None

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences this scope belongs to. A memory outside of them is as absent as one that never was:
        nothing else decides who sees what; a task and a group narrow it (`conditions.seen`)."""
        user_id = self.user_id
        found = [EVERYBODY, audience_of("global", user_id), audience_of("role", user_id, self.role_id)]
        found += [audience_of("project", user_id, self.project_id)] if self.project_id else []
        found += [audience_of("session", user_id, self.session_id)] if self.session_id else []
        return (*found, *(audience_of("household", name) for name in self.households))


def shared_scope(project_id: str) -> Scope:
    """In a session that the members of a project read, the project stands in the user's place: nothing that
    is a person's own is seen there, and what is saved there is the project's. No user has such a name."""
    return Scope(f"project:{project_id}")


class AllScopes(NamedTuple):
    """A person who manages memories: all of the user's own, of every role, project and session, and those of
    the households."""

    user_id: str
    households: tuple[str, ...] = ()


Viewer = Scope | AllScopes


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory. Times are Unix milliseconds; `last_used` is when it was last cited (or made), from which its
    freshness follows. `version` counts its changes from 1. `quarantined`: it stems from a tool or the web,
    and is not recalled before a person confirms it. `flagged` is why it should be reviewed. `origin` is who
    stated it (None: an operator, as of documents, or not known of an old version), and `tools` are those
    whose output the model had read when it was saved. `digest` identifies its content in any spelling
    (`validation.digest_of`)."""

    id: str
    user_id: str
    owner_type: OwnerType
    owner_id: str
    type: MemoryType
    content: str
    summary: str
    digest: str
    visibility: Visibility
    source: MemorySource
    created_at: int
    updated_at: int
    last_used: int
    role_id: str | None = None
    project_id: str | None = None
    importance: int = 3
    confidence: float = 1.0
    evidence_count: int = 0
    status: Status = "active"
    superseded_by: str | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False
    quarantined: bool = False
    flagged: str | None = None
    context: str | None = None
    decisions: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    skill: str | None = None
    reference: str | None = None
    version: int = 1
    metadata: Mapping[str, Any] | None = None
    """The remarks of the tool that suggested it, JSON."""
    origin: Origin | None = None
    tools: tuple[str, ...] = ()

    @property
    def audience(self) -> str:
        """The one audience that sees it (see `Scope.audiences`)."""
        if self.source == "document":
            return EVERYBODY
        if self.owner_type == "session":
            return audience_of("session", self.user_id, self.owner_id)
        if self.owner_type == "household":
            return audience_of("household", self.owner_id)
        if self.visibility == "global":
            return audience_of("global", self.user_id)
        if self.visibility == "project":
            return audience_of("project", self.user_id, self.project_id)
        return audience_of("role", self.user_id, self.role_id)

    @property
    def recallable(self) -> bool:
        """Whether it may be recalled at all."""
        return self.status in {"active", "suppressed"} and not self.quarantined


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why something is remembered: a verbatim quote of a message, by its session and position. `author` is
    the assistant where the user agreed to its words, in a quote of theirs beside this one."""

    session_id: str
    position: int
    quote: str
    author: Author = "user"


@dataclass(frozen=True, slots=True)
class Link:
    """`from_id` depends on, was merged from, or contradicts `to_id`, or its user said that it holds beside
    it."""

    from_id: str
    to_id: str
    relation: Relation


class Passage(NamedTuple):
    """A part of a long content, by its characters: the `number`th of `of`, from 1. `headings` are those above
    its beginning, the outermost first."""

    number: int
    of: int
    begin: int
    end: int
    headings: tuple[str, ...] = ()


class Indexed(NamedTuple):
    """By which search tokens a memory is found, or one passage of a long one."""

    tokens: Sequence[str]
    passage: Passage | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a transaction: `row` is the new state. With `row.version` 1 it is a new memory; otherwise
    that of version `row.version - 1` becomes it. `deletes` leaves a tombstone: the memory is gone from every
    list and index, its versions stay until it is removed. `restores` brings it back, deleted or not. `index`
    is by what `row` is found."""

    row: MemoryRow
    operation: Operation
    actor: str
    reason: str
    index: Sequence[Indexed] = ()
    evidence: Sequence[Evidence] = ()
    stated_by: str | None = None
    """The user whose words `evidence` are; it is not stored without."""
    links: Sequence[Link] = ()
    unlinks: Sequence[Link] = ()
    """Links that are there no more afterwards."""
    key: str | None = None
    """Makes a repetition of the same request harmless: a change with a key that was used is refused as a
    duplicate of what that made or reinforced."""
    turn_id: str | None = None
    other_digest: str | None = None
    """The digest in another form that rows may have it in, encrypted or not: that is the same content too."""

    @property
    def deletes(self) -> bool:
        return self.operation == "deleted"

    @property
    def restores(self) -> bool:
        return self.operation == "restored"


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A memory after one change, its author and the reason."""

    version: int
    operation: Operation
    actor: str
    reason: str
    turn_id: str | None
    at: int
    row: MemoryRow


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A deleted memory: `row` as it was, with the version of its deletion; who deleted it, why, and in which
    turn. It can be restored until RESTORABLE_FOR after `deleted_at` (Unix ms)."""

    row: MemoryRow
    deleted_at: int
    actor: str
    reason: str
    turn_id: str | None = None

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def type(self) -> MemoryType:
        return self.row.type

    @property
    def restorable_until(self) -> int:
        return self.deleted_at + RESTORABLE_FOR


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The last content of a memory that was deleted, or replaced by another, at that time (Unix ms)."""

    id: str
    content: str
    digest: str
    at: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories; a field that is empty or None asks nothing. `since` is of the last change, Unix ms."""

    types: Sequence[MemoryType] = ()
    statuses: Sequence[Status] = ()
    owner_type: OwnerType | None = None
    owner_id: str | None = None
    tag: str | None = None
    tag_sealed: Sequence[str] = ()
    """Also these tags: `tag` as it is stored where memories are encrypted."""
    since: int | None = None
    quarantined: bool | None = None
    pinned: bool | None = None
    runtime: bool = False
    """Only what was remembered, no documents."""
    recallable: bool = False
    """Only what may be recalled: active or suppressed, not in quarantine, and of documented and runtime
    memories with the same skill, type and reference the one that wins (see `MemoryStore.match`)."""


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that has some of the words looked for, and of a long one the passage that matches best;
    `score` is BM25, higher is better."""

    row: MemoryRow
    score: float
    passage: Passage | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """The embedding of a memory's content with `digest` by one model, or of the passage of it with that
    number: float32, little-endian."""

    memory_id: str
    digest: str
    data: bytes
    passage: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """A small document about a user or a household: text by key, with a version that counts its changes."""

    kind: ProfileKind
    id: str
    fields: dict[str, str]
    version: int
    updated_at: int
    actor: str


def audience_of(kind: str, *names: str | None) -> str:
    """Those for whom something is. A word in which names of any spelling are harmless."""
    named = "\0".join((kind, *(name if name is not None else "\1" for name in names)))
    return kind + hashlib.sha256(named.encode()).hexdigest()[:24]


def as_json(row: MemoryRow) -> dict[str, Any]:
    """All fields by name, as versions and exports keep them."""
    return {name: getattr(row, name) for name in MemoryRow.__dataclass_fields__}
