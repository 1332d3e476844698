"""Memories as they come in, and what is asked of them."""

from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo

from gateway.http.json_types import Body, Id, Prose, Query, SessionId, SessionName, UserId, no_nul
from gateway.memory.corrections.contradictions import Answer
from gateway.memory.corrections.corrections import Action
from gateway.memory.export import MAX_QUOTES
from gateway.memory.memories import MAX_DEPENDS_ON
from gateway.memory.validation import MAX_CONTENT
from gateway.memory.validation import NewMemory as New
from gateway.service.memory_access import ScopeIds
from gateway.storage.memories import Evidence, Filter, MemoryType, OwnerType, Status, Visibility

VERSION = MappingProxyType({"If-Match": "The ETag that a change expects; absent: any."})
Text = Annotated[str, AfterValidator(no_nul)]
Name = Annotated[str, AfterValidator(no_nul), StringConstraints(min_length=1, max_length=256)]


def _named_session(owner: str, info: ValidationInfo) -> str:
    """Where the field before says that the owner of memories is a session, that is what it is called."""
    return SessionName(owner) if info.data.get("owner_type") == "session" else owner


OwnerName = Annotated[Name, AfterValidator(_named_session)]
Reason = Annotated[Prose, StringConstraints(min_length=1, max_length=500)]
Words = Annotated[str, AfterValidator(no_nul), StringConstraints(min_length=1, max_length=500)]
Importance = Annotated[int, Field(ge=1, le=5)]
Confidence = Annotated[float, Field(ge=0, le=1)]


class Placed(Body):
    """Where somebody asks from: what of the memory is seen there."""

    user_id: UserId | None = Field(None, description="You; another user's memories are refused.")
    role_id: Id | None = Field(None, description="The role, or interface.")
    project_id: Id | None = None
    session_id: SessionId | None = Field(
        None, description="A session of yours; brings its role and project along where they are absent."
    )
    task_id: Name | None = Field(None, description="The task: what is of other tasks is not seen.")
    group_id: Name | None = Field(None, description="The group: what is of other groups is not seen.")

    @property
    def scope_ids(self) -> ScopeIds:
        return ScopeIds(
            self.role_id, self.project_id, self.session_id, self.user_id, self.task_id, self.group_id
        )


class EvidenceBody(Body):
    """What you said that shows it, word for word."""

    session_id: SessionId
    position: int = Field(ge=1, le=10**9, description="Of your message in the session, from 1.")
    quote: Name = Field(description="A piece of that message.")

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.session_id, self.position, self.quote)


class NewMemoryBody(Placed):
    content: Text = Field(description=f"What to remember, at most {MAX_CONTENT} characters.")
    type: MemoryType = "fact"
    summary: Text | None = Field(None, description="Absent: the beginning of the content.")
    owner_type: OwnerType = "user"
    owner_id: OwnerName | None = Field(
        None,
        description="Absent: you, your household, or the role, project, session, task or group you ask from.",
    )
    visibility: Visibility | None = Field(None, description="Absent: follows from the owner.")
    importance: Importance = 3
    confidence: Confidence = 1.0
    tags: list[Text] = Field([])
    pinned: bool = Field(
        False, description="Stands in the prompt before all others, however much is remembered."
    )
    context: Text | None = None
    decisions: list[Text] = Field([])
    refs: list[Text] = Field([], description="Where more is to be found: files, addresses, tickets.")
    skill: Name | None = None
    reference: Name | None = None
    evidence: list[EvidenceBody] = Field([], max_length=MAX_QUOTES)
    depends_on: list[Id] = Field(
        [],
        max_length=MAX_DEPENDS_ON,
        description="Memories of yours that it follows from: when one is corrected, it is flagged.",
    )
    reason: Reason = "Saved by its user."

    @property
    def new(self) -> New:
        given = {name: getattr(self, name) for name in New.__dataclass_fields__ if hasattr(self, name)}
        return New(**given)


class MemoryPatch(Body):
    """What changes; the rest stays."""

    content: Text | None = None
    summary: Text | None = None
    type: MemoryType | None = None
    visibility: Visibility | None = None
    importance: Importance | None = None
    confidence: Confidence | None = None
    tags: list[Text] | None = None
    pinned: bool | None = None
    context: Text | None = Field(None, description="null or empty: none any more.")
    decisions: list[Text] | None = None
    refs: list[Text] | None = None
    reason: Reason = Field("Changed by its user.", description="Is kept with the version.")

    @property
    def changes(self) -> dict[str, Any]:
        """The fields that were given; null changes nothing but the context."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"reason"}}
        return {name: value for name, value in given.items() if value is not None or name == "context"}


class CorrectBody(Body):
    memory_id: Id
    action: Action = Field(
        description="suppress: recalled with a lower score. freeze: not recalled any more. replace: "
        "new_content says it now. activate: undoes suppress and freeze."
    )
    new_content: Text | None = Field(None, description="For replace.")
    evidence: EvidenceBody | Words | None = Field(
        None, description="What you said that shows it, or in words why."
    )


class MergeBody(Body):
    memory_ids: list[Id] = Field(min_length=2, max_length=20)


class AnswerBody(Body):
    """Which of two memories holds that contradict each other."""

    earlier_id: Id
    later_id: Id
    answer: Answer = Field(
        description="later, earlier: that one takes the place of the other, which can be restored. both: "
        "they are not asked about again. undecided: takes both back."
    )


class SessionLogQuery(Query):
    """The session whose log gets an event of the change."""

    session_id: SessionId | None = Field(
        None, description="A session of yours, whose log gets the change as an event `memory`."
    )


class RestoreBody(Body):
    """The version to which a memory is brought back."""

    to_version: int | None = Field(
        None, ge=1, description="One of its `versions`. Absent: what it was when it was deleted."
    )


class MemoriesQuery(Query):
    """Which memories. With a role, a project or a session: those seen there; else all of yours."""

    user_id: UserId | None = Field(None, description="You; another user's memories are refused.")
    role_id: Id | None = None
    project_id: Id | None = None
    session_id: SessionId | None = None
    type: MemoryType | None = None
    status: Status | None = None
    owner_type: OwnerType | None = None
    owner_id: OwnerName | None = Field(None, description="With owner_type: of this one alone.")
    tag: Name | None = None
    quarantined: bool | None = Field(None, description="Whether it waits for a person to confirm it.")
    pinned: bool | None = None
    deleted: bool = Field(False, description="Instead: what was deleted, and can be restored or erased.")
    q: Words | None = Field(None, description="Words, any of them: one page, the best match first.")
    limit: int = Field(50, ge=1, le=200)
    before: str | None = Field(None, max_length=200, description="The `next` of the former page.")

    @property
    def which(self) -> Filter:
        return Filter(
            types=(self.type,) if self.type else (),
            statuses=(self.status,) if self.status else (),
            owner_type=self.owner_type,
            owner_id=self.owner_id,
            tag=self.tag,
            quarantined=self.quarantined,
            pinned=self.pinned,
            runtime=True,
        )
