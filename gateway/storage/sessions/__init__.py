"""What storage owes about sessions: their messages, their removal, search in them, and learning from them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gateway.storage.branches import Branch
from gateway.storage.messages import History, PromptMemories, StoredMessage
from gateway.storage.retention import SessionDays
from gateway.storage.turns import TurnRow

BESIDE = "side"
"""The role of sessions with what a frontend asks for itself, such as titles: nothing is learned from them."""

TitleBy = Literal["user", "model"]
Shared = Literal["read", "write"]
"""What the members of its project may do with a session that its owner shares."""
Sharing = Shared | Literal["none"]
OpenStatus = Literal["running", "awaiting_approval", "awaiting_tool_result"]
Order = Literal["updated", "created"]
Whose = Literal["mine", "others", "all"]
"""Sessions of the user, those that others share with them in a project, or both."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session. Times are Unix milliseconds; `head` is the seq of its last event, 0 before the first,
    `updated_at` when a turn was accepted or ended last, and `active_branch` the one in which turns go on.
    `pinned_at` and `archived_at` are when its owner did so, `title_by` who gave it its title: None where that
    is the beginning of its first message. `status` is that of its open turn; None: it has none. `shared` is
    what the members of its project may do with it; None: nothing. `archive_days` and `delete_days` are its
    own retention. One that `is_temporary` is in no list, nothing is learned from it, and it ends soon."""

    id: str
    owner: str
    title: str | None
    created_at: int
    updated_at: int
    head: int
    project_id: str | None = None
    role_id: str | None = None
    active_branch: int = 0
    pinned_at: int | None = None
    archived_at: int | None = None
    title_by: TitleBy | None = None
    archive_days: int | None = None
    delete_days: int | None = None
    status: OpenStatus | None = None
    shared: Shared | None = None
    is_temporary: bool = False

    @property
    def pinned(self) -> bool:
        return self.pinned_at is not None

    @property
    def archived(self) -> bool:
        return self.archived_at is not None


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A part of a text that is shown: `hit` where it is one that a search looked for."""

    text: str
    hit: bool = False


@dataclass(frozen=True, slots=True)
class MatchedText:
    """Why a search finds a session: its `title`, in pieces, if words of the search are in it, and of the
    newest turn that has all of them the part of the `text` where they stand; None: they are in the title
    alone, or the messages cannot be read any more."""

    title: Sequence[MarkedText] | None = None
    turn_id: str | None = None
    text: Sequence[MarkedText] | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A session as of one moment, before its messages are read: `history` is without them, `last` the
    position of the last one."""

    session: SessionRow
    open_turn: TurnRow | None
    history: History
    last: int

    @property
    def ranges(self) -> Sequence[tuple[int, int]]:
        """Where the messages of the history lie: pairs of a position that comes before and the last one."""
        row, branch = self.history.compression, self.history.branch
        covered = row.to_position if row is not None else 0
        since = [(covered, self.last)] if branch is None else branch.within(covered, self.last)
        if row is None or row.kept_position is None:
            return since
        return [(row.kept_position - 1, row.kept_position), *since]


class SessionDirectory(Protocol):
    """Which sessions there are, with their titles, pins and places."""

    async def create(
        self,
        session_id: str,
        owner: str,
        title: str | None,
        at: int,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        instructions: str | None = None,
        is_temporary: bool = False,
        quota: int | None = None,
    ) -> SessionRow:
        """With `instructions` for its first turn. Raises errors.Conflict when the id is taken, by whomever;
        errors.SessionsFull: all sessions of the owner would count more than the `quota`."""
        ...

    async def size_of_all(self, owner: str) -> int:
        """The bytes that the owner's sessions count against their quota (see `session_sizes.py`)."""
        ...

    async def unsized(self, most: int) -> Sequence[str]:
        """Sessions that are not counted yet: versions before made them."""
        ...

    async def count(self, session_id: str) -> None:
        """Counts what was said in it and is not counted yet."""
        ...

    async def get(self, session_id: str, owner: str) -> SessionRow:
        """Raises errors.NotFound (code session_not_found)."""
        ...

    async def list(
        self,
        owner: str,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        query: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        order: Order = "updated",
        project_id: str | None = None,
        temporary: bool = False,
        whose: Whose | None = None,
    ) -> list[SessionRow]:
        """Those that `whose` names, with `temporary` also such; `whose` None: the owner's, and of a project
        all that they see. Newest first by the time that `order` names and the id, strictly before that pair.
        Only those that are `pinned`, or `archived`, or are not, unless that is None. With `query` only
        sessions that have all its words in one turn or in the title: English and Chinese, in any inflection
        or script. One without words finds nothing; a turn is found a moment after its end (see
        `Search`)."""
        ...

    async def change(
        self,
        session_id: str,
        owner: str,
        at: int,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        project_id: str | None = None,
        shared: Shared | Literal["none"] | None = None,
        retention: SessionDays | None = None,
        instructions: str | None = None,
    ) -> SessionRow:
        """Changes a session for its owner, all of it or nothing; None: that stays. It is moved into another
        project ("": into none), where it is private, and then shared with the members, or with nobody. Where
        it is shared from now on, its prompt forgets the memories and summaries that it had from its owner.
        `retention` is in place of the days it had, `instructions` are those of its active branch from the
        next turn on ("": none).

        Raises:
            errors.NotFound: (session_not_found); (project_not_found) they may not write in that project.
            errors.Conflict: (session_in_no_project) to be shared, it has to be in a project;
                (session_is_temporary) a temporary one is shared with nobody.
            errors.TurnInProgress: a turn runs or waits, with what its owner alone may see.
        """
        ...

    async def entitle(self, session_id: str, title: str, *, instead_of: str) -> bool:
        """Gives a session the title that a model made in place of the beginning of its first message. False,
        and nothing done, when it has another title by now, or the same from a person."""
        ...

    async def delete(
        self, session_id: str, owner: str, *, only_if: tuple[int, int | None] | None = None
    ) -> Sequence[str]:
        """Removes the session with all that belongs to it, also the artifacts that were made in it and that
        no other session uses. Nothing of it can be found from then on; the rows of a long one go in slices
        (see `Purges`), and its id may be created again after the last: until then that is refused with
        errors.Conflict (session_being_removed). Returns blobs that may be orphans since (see `Orphans`): of
        its archives all, of artifacts those of the first slice.

        Raises:
            errors.NotFound; errors.TurnInProgress while a turn is running or waiting; errors.Conflict:
            (legal_hold) it or its owner is held; (session_changed) `updated_at` and `delete_days` are not
            those of `only_if`.
        """
        ...


class Transcripts(Protocol):
    """The messages of sessions, and the model's view of them."""

    async def branch(self, session_id: str) -> Branch | None:
        """Where the messages of the active branch lie; None of a session that has one only."""
        ...

    async def messages(
        self, session_id: str, *, after: int = 0, until: int | None = None, branch: Branch | None = None
    ) -> Sequence[StoredMessage]:
        """All messages in order, those with position > `after` (and <= `until`), archived ones too; of a
        `branch` its own. Nothing ever changes or removes one while the session is there.

        Raises:
            errors.ArchiveDamaged: an archive that holds some of them is missing or not what was written.
        """
        ...

    async def history(self, session_id: str, *, whole: bool = False) -> History:
        """What the model's view of the session is made of; with `whole`, as if nothing were compressed.
        Raises errors.ArchiveDamaged."""
        ...

    async def outline(
        self, session_id: str, owner: str, *, whole: bool = False, branch: int | None = None
    ) -> Outline:
        """The session, its running turn and what its history is made of, in that branch or (None) the active
        one, all as of one moment. Raises errors.NotFound (session_not_found, branch_not_found)."""
        ...

    def pages(self, outline: Outline) -> AsyncGenerator[Sequence[StoredMessage]]:
        """The messages of its history, in order, a few at a time: however long it is, a page is about as
        large as the largest message.

        Raises:
            errors.NotFound: the session was deleted meanwhile.
            errors.ArchiveDamaged.
        """
        ...


class SessionPrompts(Protocol):
    """What the prompt of a session keeps from one turn to the next."""

    async def begin_generation(self, session_id: str, after: int, *, instead_of: int) -> None:
        """The prompt before the messages has changed: thinking up to position `after` is sent no more, and
        the prefix hash is forgotten. Nothing happens when the generation is no longer `instead_of`: a newer
        one began meanwhile."""
        ...

    async def instructions(self, session_id: str, digest: str | None = None) -> str | None:
        """Those of the client application that are in force, if any, or those of that digest."""
        ...

    async def carried(self, session_id: str) -> str | None:
        """The summaries of former sessions in its prompt, if any."""
        ...

    async def carry(self, session_id: str, text: str) -> None:
        """Fixes the summaries of former sessions in its prompt, for as long as it lives."""
        ...

    async def set_prompt_memories(self, session_id: str, memories: PromptMemories) -> None:
        """Fixes the memories in a session's prompt, until others are given."""
        ...

    async def forget_memory(self, owner: str, memory_id: str) -> None:
        """Removes a memory's text from the owner's sessions: from prompts that contain it, where its digest
        becomes void, and from the messages that record its recall. Events and archives stay as they are."""
        ...


class Sessions(SessionDirectory, Transcripts, SessionPrompts, Protocol):
    """Sessions with their messages and what their prompts keep."""


class Slice(NamedTuple):
    """What became of a slice of a purge: whether it was the last, and blobs that may be orphans since."""

    is_last: bool
    blobs: Sequence[str]


class Purges(Protocol):
    """The removal, in slices, of rows that are no longer visible: those of sessions that were deleted, and
    those of events and messages that an archive has."""

    async def awaited(self) -> None:
        """Returns once a purge has begun in this process since the last time."""
        ...

    async def next_slice(self) -> Slice | None:
        """Removes a slice of the purge that began first; None when there is none."""
        ...


class Search(Protocol):
    """The words of sessions, by which `Sessions.list` finds them. Titles are searchable at once, turns when
    their session was indexed after their end."""

    async def index(self, *session_ids: str) -> None:
        """Makes the messages of these sessions searchable, up to their last turn that is over. Sessions that
        are gone, or have nothing new, are passed over."""
        ...

    async def due(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Sessions without a running turn of which something is not searchable yet, in the order of their
        ids, beginning after that one."""
        ...

    async def where(self, owner: str, query: str, session_ids: Sequence[str]) -> Mapping[str, MatchedText]:
        """Where the words stand in sessions that `Sessions.list` found by the query. Sessions that are not
        the owner's, or gone by now, are left out."""
        ...


class FormerWords(Protocol):
    """Words by which sessions are found, as an earlier version of the gateway made them."""

    async def sessions(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Ids of at most `limit` sessions with such words, behind that one in an order of the engine."""
        ...

    async def renew(self, session_id: str, *, pause: float = 0) -> None:
        """Makes the words of a session anew, some turns in a transaction, with so many seconds between two of
        them. It is found all the time; nothing happens to one that is gone."""
        ...


class LearnedSessions(Protocol):
    """How far the extractor of memories has read the sessions that it is to read. It must not read messages
    from while it was switched off, so a session is read from some turn on, until all of it was read."""

    async def begin(self, session_id: str, turn_id: str) -> None:
        """Marks messages to be read from that turn on, the session's newest; does nothing while earlier ones
        are marked, or in the role BESIDE."""
        ...

    async def learned_to(self, session_id: str) -> int | None:
        """The position after which messages are to be read; None: nothing is, or the session is gone."""
        ...

    async def advance(self, session_id: str, to: int) -> None:
        """It was read up to that position. Nothing more is to be read when that is its last message and no
        turn is open."""
        ...

    async def due(self, *, before: int, after: str = "", limit: int) -> Sequence[tuple[str, str]]:
        """Sessions (id, owner) to be read that have no turn in flight and were last used before that time, in
        the order of their ids, beginning after that one."""
        ...
