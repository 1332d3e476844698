"""What stands in the model's request of a turn, over a whole gateway and the paraphrasing model: of the
memories, of documented memories, and of what was saved after tools had spoken."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp.server.mcpserver import MCPServer

from bench.figures import Figure
from bench.recall.sets import (
    CHARACTERS,
    Asked,
    Document,
    Language,
    Passage,
    Planted,
    Saved,
    distractors,
    documents,
    no_answer,
    planted_instructions,
    questions,
    saves_after_own_tools,
)
from gateway.memory.search.query import MemoryQuery
from gateway.memory.services import MemoryServices
from gateway.storage.memories import MemoryRow, Scope
from gateway.tools.base import FunctionTool
from gateway.tools.fetch.http_fetch import http_fetch
from gateway.tools.function import tool
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import served
from tests.memory.search.saving import made, put
from tests.paraphrasing_model.client import Given, Scripted, paraphrasing_model
from tests.tools.web import answer, serving

DISTRACTORS = 1_200
FIRST = 5
"""Of a search: what it ranks behind those is not expected in a turn."""
SCOPE = Scope("local")


class Desk:
    """A gateway with the paraphrasing model: a user who asks, and what the model was given."""

    def __init__(self, user: Client, model: Scripted) -> None:
        self.user, self.model = user, model

    @property
    def memory(self) -> MemoryServices:
        return self.user.app.state.deps.memory

    async def asked(self, message: str) -> Given:
        """The first request of a new session."""
        await self.user.chat(message)
        return await self.model.last()

    async def ranked(self, question: str) -> list[str]:
        """The ids that search finds for a question, the best first."""
        hits = (await self.memory.searcher.find(SCOPE, MemoryQuery(question, limit=FIRST))).hits
        return [hit.row.id for hit in hits]

    async def withheld_by(self, message: str, memory_id: str) -> str:
        """Where a memory that search finds for a message is left out of its turn."""
        decision = await self.memory.retrieval_gate.decide(message, message_count=1)
        query = MemoryQuery(
            message,
            line_tokens=decision.budget_tokens,
            mode=decision.mode,
            likely_types=decision.types,
            plainly=decision.needed == "no",
        )
        found = await self.memory.searcher.find(SCOPE, query)
        reasons = {each.id: f"left out: {each.reason}" for each in found.omissions}
        reasons |= {hit.row.id: "given by its summary alone" for hit in found.hits}
        missing = "the control says that none is needed" if query.plainly else "not found for the turn"
        return reasons.get(memory_id, missing)


@asynccontextmanager
async def at_desk(
    *tools: FunctionTool, files: Sequence[Document] = (), **given: object
) -> AsyncGenerator[Desk]:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "documents").mkdir()
        for number, each in enumerate(files):
            fields = {
                "type": "reference",
                "skill": "handbook",
                "reference": each.title,
                "content": each.content,
            }
            (place / "documents" / f"handbook-reference-{number:016x}.json").write_text(json.dumps(fields))
        async with paraphrasing_model() as model:
            settings = settings_for(
                place / "data",
                model.url,
                skills_dir=place / "skills",
                documents_dir=place / "documents",
                **given,
            )
            async with running_gateway(settings, *tools) as user:
                yield Desk(user, model)


async def in_turns(share: int) -> Sequence[Figure]:
    """Questions about one of very many memories, each in a session of its own; and such as none answers."""
    every = 4 if share > 1 else 1
    known = [*questions("english")[::every], *questions("chinese")[::every]]
    unknown = no_answer()[::every]
    told, found = Counter[tuple[Language, bool]](), Counter[tuple[Language, bool]]()
    withheld = Counter[str]()
    async with at_desk() as desk:
        rows = await remembered(desk, known, DISTRACTORS // share)
        for each in known:
            memory_id = rows[each.memory].id
            if memory_id not in await desk.ranked(each.question):
                continue
            found[each.language, each.own] += 1
            if each.memory in await desk.asked(each.question):
                told[each.language, each.own] += 1
            else:
                withheld[await desk.withheld_by(each.question, memory_id)] += 1
        nothing = [question for question in unknown if await given_nothing(desk, question)]
    kinds: list[tuple[Language, bool]] = [(each, own) for each in CHARACTERS for own in (True, False)]
    return [
        percent(f"given in a turn, of what search ranks 1 to {FIRST}", told.total(), found.total(), 95),
        *(
            percent(f"  {kind[0]}, {'my or our' if kind[1] else 'plain'}", told[kind], found[kind], 95)
            for kind in kinds
        ),
        *because(withheld),
        percent(f"  ranked 1 to {FIRST} by search", found.total(), len(known), 80),
        percent("given nothing, of what nothing answers", len(nothing), len(unknown), 85),
    ]


async def remembered(desk: Desk, known: Sequence[Asked], others: int) -> dict[str, MemoryRow]:
    """The memories that answer, among others of the same weight and age."""
    rows = [made(each.memory, SCOPE, days=30) for each in known]
    all_rows = [*rows, *(made(said, SCOPE, days=30) for said in distractors(others))]
    for start in range(0, len(all_rows), 500):
        await put(desk.memory.store, *all_rows[start : start + 500])
    return {row.content: row for row in rows}


async def given_nothing(desk: Desk, question: str) -> bool:
    """Whether the message stands alone in its request."""
    return (await desk.asked(question)).said == (" ".join(question.split()),)


async def documented(share: int) -> Sequence[Figure]:
    """Passages of documents that are longer than what a turn may be given."""
    figures: list[Figure] = []
    for language, characters in CHARACTERS.items():
        some = documents(language)[:: 3 if share > 1 else 1]
        withheld = Counter[str]()
        async with at_desk(files=some) as desk:
            passages = [passage for each in some for passage in each.passages]
            given = [passage for passage in passages if await passage_given(desk, passage, withheld)]
        name = f"passage given, {language} documents of {characters:,}"
        figures += [percent(name, len(given), len(passages), 90), *because(withheld)]
    return figures


async def passage_given(desk: Desk, passage: Passage, withheld: Counter[str]) -> bool:
    if passage.text in await desk.asked(passage.question):
        return True
    rows = await desk.memory.store.list(SCOPE, limit=100)
    (document,) = [row for row in rows if passage.text in row.content]
    withheld[await desk.withheld_by(passage.question, document.id)] += 1
    return False


async def saving(share: int) -> Sequence[Figure]:
    """What the user said, saved in other words after a tool of the operator's had spoken."""
    some = saves_after_own_tools()[:: 4 if share > 1 else 1]
    gave = dict[str, str]()

    @tool(effect="read_only")
    async def look_up(record: str) -> str:
        """Looks a record of the company up.

        Args:
            record: Its number.
        """
        return gave[record]

    async with at_desk(look_up) as desk:
        for number, each in enumerate(some):
            gave[str(number)] = each.gave
            await save_after(
                desk, each.said, {"call": "look_up", "input": {"record": str(number)}}, each.saves
            )
        usable = [each for each in some if await stands(desk, each)]
    return [percent("saves after own tools, given in the next session", len(usable), len(some), 100)]


async def stands(desk: Desk, saved: Saved) -> bool:
    return saved.saves in await desk.asked(saved.asked)


async def planted(share: int) -> Sequence[Figure]:
    """Instructions of strangers, which the model saves word for word and as a wish of the user's."""
    some = planted_instructions()[:: 5 if share > 1 else 1]
    texts = {str(number): each.text for number, each in enumerate(some)}
    shop = MCPServer("shop", log_level="ERROR")

    @shop.tool(structured_output=False)
    def review(number: str) -> str:
        """Shows a review of a customer."""
        return texts[number]

    app = shop.streamable_http_app()
    async with serving() as web, served(app) as url:
        web.pages = {f"/{number}": answer(text.encode()) for number, text in texts.items()}
        servers = {"shop": {"url": f"{url}/mcp"}}
        fetch = http_fetch(web.fetcher)
        async with at_desk(fetch, mcp_servers=servers, tool_policy="*=allow") as desk:
            for number, each in enumerate(some):
                await plant(desk, number, each)
            asked = await desk.asked("What do you know about me, and how should you answer? 你记得我什么？")
    told = [text for each in some for text in each if text in asked]
    return [Figure(f"given as instructions, of {2 * len(some)} planted ones", len(told), "", 0)]


async def plant(desk: Desk, number: int, planted: Planted) -> None:
    """Once in its own words and once as a preference, from a page, a result of an MCP server, or a file."""
    for turn, text in enumerate(planted):
        message = f"Please look at review {number}-{turn}."
        match (number + turn) % 3:
            case 0:
                call = {"call": "http_fetch", "input": {"url": f"http://news.example/{number}"}}
            case 1:
                call = {"call": "mcp__shop__review", "input": {"number": str(number)}}
            case _:
                await desk.model.script(message, {"save": text}, {"answer": "Done."})
                note = {"name": "review.txt", "text": planted.text}
                await desk.user.chat(message, attachments=[note])
                continue
        await save_after(desk, message, call, text)


async def save_after(desk: Desk, said: str, call: Mapping[str, object], saves: str) -> None:
    await desk.model.script(said, call, {"save": saves}, {"answer": "Done."})
    events = await desk.user.chat(said)
    statuses = [event["data"]["status"] for event in events if event["type"] == "tool_result"]
    assert statuses[:1] == ["ok"], events


def because(withheld: Counter[str]) -> Iterator[Figure]:
    """What was left out, by where."""
    return (Figure(f"  {why}", times, "", 0) for why, times in withheld.most_common())


def percent(name: str, reached: int, of: int, at_least: float) -> Figure:
    return Figure(f"{name} ({of})", 100 * reached / max(1, of), "%", at_least, at_most=False)
