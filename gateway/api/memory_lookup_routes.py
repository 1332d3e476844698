"""What a message needs of the memory, what there is for it, and what is to be kept of a conversation."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from starlette.responses import Response

from gateway.api.memory_bodies import Placed
from gateway.api.memory_replies import MAX_PAGE, EvidenceItem, MemoryChange
from gateway.api.pasted_conversation import Conversation
from gateway.errors import InvalidRequest
from gateway.events.content import Omission
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Id, Message, Reply, SessionName, json_reply, not_blank
from gateway.http.requests import ApiRequest
from gateway.ids import is_id, now_ms
from gateway.memory.retrieval_gate.cues import TimeRange
from gateway.memory.retrieval_gate.gate import Mode, Needed, RetrievalDecision, start_of
from gateway.memory.search.query import Hit, MemoryQuery
from gateway.memory.secret_detection import masked_row
from gateway.memory.validation import MAX_TAG
from gateway.storage.memories import Evidence, MemoryType


class ControlBody(Placed):
    user_message: Message
    message_count: int = Field(0, ge=0, le=10**9, description="Messages of the session before this one.")


class ControlReply(Reply):
    """What a message needs. All but `needed`, `need_memory` and `notes` can be passed on to retrieve."""

    needed: Needed
    need_memory: Needed = Field(description="The same as needed.")
    memory_types: list[MemoryType] = Field(description="None: all of them.")
    mode: Mode
    retrieval_mode: Mode = Field(description="The same as mode.")
    budget_tokens: int
    time_range: TimeRange
    notes: list[str]

    @classmethod
    def of(cls, decision: RetrievalDecision) -> "ControlReply":
        needed, mode = decision.needed, decision.mode
        return cls.from_row(decision, need_memory=needed, retrieval_mode=mode, memory_types=decision.types)


class RetrieveBody(Placed):
    """A query, or the ids of memories whose details are wanted."""

    query: Message | None = Field(None, description="A message, a question or words.")
    memory_ids: list[Id] = Field(
        [], max_length=50, description="Instead of a query: everything about these, as far as they are there."
    )
    mode: Mode = "catalog"
    retrieval_mode: Mode | None = Field(None, description="The same as mode.")
    memory_types: list[MemoryType] = Field([], max_length=20, description="None: all of them.")
    time_range: TimeRange = Field("all", description="When they were last changed.")
    limit: int = Field(10, ge=1, le=50)
    budget_tokens: int = Field(
        1000, ge=0, le=100_000, description="Most tokens (estimated) of what is found, in that mode."
    )

    @model_validator(mode="after")
    def _one_mode(self) -> Self:
        if self.retrieval_mode not in {None, self.mode} and "mode" in self.model_fields_set:
            raise ValueError("mode and retrieval_mode are the same: give one of them")
        return self

    @property
    def wanted_mode(self) -> Mode:
        return self.retrieval_mode or self.mode

    def asked(self, text: str) -> MemoryQuery:
        return MemoryQuery(
            text=text,
            types=self.memory_types,
            since=start_of(self.time_range, now_ms()),
            budget_tokens=self.budget_tokens,
            limit=self.limit,
            mode=self.wanted_mode,
            summaries_only=True,
        )


class RetrievedMemory(Reply):
    """A memory that fits. `context` and what follows it is there in mode details, as far as there is room for
    all of it."""

    id: str
    summary: str
    type: MemoryType
    importance: int
    tags: list[str]
    score: float = Field(description="Comparable within one answer; 0 when asked for by id.")
    lexical_rank: int | None = Field(None, description="Its place by words.")
    vector_rank: int | None = Field(None, description="Its place by meaning.")
    freshness: float
    created_at: int = Field(description="Unix milliseconds, as is updated_at.")
    updated_at: int
    passage: str | None = Field(
        None, description="In mode details, of a memory too long for its room: what of it fits the query."
    )
    content: str | None = None
    context: str | None = None
    decisions: list[str] | None = None
    refs: list[str] | None = None
    evidence: list[EvidenceItem] | None = None

    @classmethod
    def of(cls, hit: Hit, quotes: Sequence[Evidence] | None) -> Self:
        """In full where there are `quotes`, if only none, and room was for it."""
        row, passage = masked_row(hit.row), hit.passage if hit.form == "passage" else None
        more: dict[str, object] = {"content": None, "context": None, "decisions": None, "refs": None}
        if quotes is not None and hit.form == "full":
            more = {"evidence": [EvidenceItem.of(each) for each in quotes[:MAX_PAGE]]}
        return cls.from_row(
            row,
            score=hit.score,
            lexical_rank=hit.lexical_rank,
            vector_rank=hit.vector_rank,
            freshness=hit.freshness,
            passage=row.content[passage.begin : passage.end] if passage else None,
            **more,
        )


class Retrieved(Reply):
    """The best first. `omitted` were found and left out: the first of them, and why; there are
    `omitted_count`."""

    mode: Mode
    results: list[RetrievedMemory]
    omitted: list[Omission]
    omitted_count: int
    tokens: int
    degraded: bool = Field(description="The search by meaning did not work: found by words alone.")


def _named(session_id: str) -> str:
    return SessionName(session_id) if is_id(session_id) else session_id


ForeignSessionId = Annotated[
    str,
    AfterValidator(not_blank),
    AfterValidator(_named),
    Field(min_length=1, max_length=MAX_TAG),
]


class WriteBody(Placed):
    """A conversation, or the session that is to be read."""

    session_id: ForeignSessionId | None = Field(
        None,
        description="A session of yours; beside a conversation also one of another system, which becomes a "
        "tag of what is new.",
    )
    conversation: Conversation | None = Field(
        None,
        description="Messages, or a text in which lines begin with the speakers (User: …, 助手：…); one "
        "without speakers is yours.",
    )
    messages: Conversation | None = Field(None, description="The same under another name.")
    is_own: bool = Field(
        False,
        description="Whether you are the user in that conversation, as your client has recorded it: then it "
        "is remembered at once. Else a stranger may have written it, and what is found waits for you to "
        "confirm it.",
    )


class Written(Reply):
    """What became of the conversation; empty when nothing in it was worth remembering, or all was known."""

    changed: list[MemoryChange]


@endpoint(
    "POST",
    "/api/memory/control",
    "memory.control",
    {200: (ControlReply,)},
    ControlBody,
    refusals=(404, 413),
    cost=Cost("search"),
)
async def control(request: ApiRequest) -> Response:
    """Whether memories help with a message, of which types, how much of them, and why."""
    body = await request.read_body(ControlBody)
    decision = await request.gateway.memory.decide(
        request.principal, body.scope_ids, body.user_message, body.message_count
    )
    return json_reply(ControlReply.of(decision))


@endpoint(
    "POST",
    "/api/memory/retrieve",
    "memory.retrieve",
    {200: (Retrieved,)},
    RetrieveBody,
    refusals=(404, 413),
    cost=Cost("search"),
)
async def retrieve(request: ApiRequest) -> Response:
    """Memories that fit a query: summaries first (catalog), then everything about those that matter
    (details)."""
    body = await request.read_body(RetrieveBody)
    memory, who = request.gateway.memory, request.principal
    if (body.query is None) == (not body.memory_ids):
        raise InvalidRequest("Give a query, or memory_ids.")
    if body.query is None:
        found = await memory.recall(who, body.scope_ids, body.memory_ids, body.budget_tokens)
    else:
        found = await memory.find(who, body.scope_ids, body.asked(body.query))
    in_full = body.query is None or body.wanted_mode == "details"
    return json_reply(
        Retrieved(
            mode="details" if in_full else "catalog",
            results=[
                RetrievedMemory.of(hit, await memory.quotes(who, hit.row) if in_full else None)
                for hit in found.hits
            ],
            omitted=list(found.omissions),
            omitted_count=found.omitted,
            tokens=found.tokens,
            degraded=found.degraded,
        )
    )


@endpoint(
    "POST",
    "/api/memory/write",
    "memory.write",
    {200: (Written,)},
    WriteBody,
    refusals=(404, 409, 413, 429, 502),
    cost=Cost("model"),
)
async def write(request: ApiRequest) -> Response:
    """Has a conversation read, and remembers what the user said in it that is worth it. What may be a
    stranger's waits for you to confirm it."""
    body = await request.read_body(WriteBody)
    if body.conversation is not None and body.messages is not None:
        raise InvalidRequest("Give a conversation or messages, not both.")
    given = body.conversation or body.messages
    messages = [each.message for each in given] if given else None
    changed = await request.gateway.learning_and_import.learn(
        request.principal, body.scope_ids, messages, is_own=body.is_own
    )
    return json_reply(Written(changed=[MemoryChange.of(each) for each in changed]))
