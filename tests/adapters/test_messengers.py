"""What all messengers share, and an interface that is made of nothing but the contract."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from gateway.adapters.messengers.base import AnswerText, Drawn, Place, Question, Received, Thread
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.messengers.turn_drawing import MAX_MESSAGES, TurnDrawing, blocks
from gateway.adapters.slack.slack_blocks import SECTION, Streamed, blocks_of
from gateway.adapters.slack.slack_mrkdwn import mrkdwn, plain
from gateway.client import Frame
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT
from tests.product import GatewayError
from tests.running import ROOT, clean_environment

MARKDOWN = st.lists(
    st.sampled_from(
        [
            *(
                "# Title",
                "text *with* **marks**",
                "- one\n- two",
                "1. one\n   more",
                "> quoted",
                "---",
                "<b>",
            ),
            *("```py\nx = 1\n\ny = 2\n```", "| a | b |\n|---|---|\n| 1 | 2 |"),
            *("长长的中文段落。" * 20, "word " * 300, "x" * 900),
        ]
    ),
    max_size=30,
).map("\n\n".join)


def drawn(texts: Sequence[str]) -> TurnDrawing:
    """A turn that has said that by now."""
    turn = TurnDrawing("slack-")
    events: list[tuple[str, dict[str, Any]]] = [
        ("turn_start", {"input": "q", "model": "m", "trace_id": "0" * 32, "client_message_id": "slack-1"}),
        ("iteration_start", {"attempt": 1, "model": "m"}),
        *(("text", {"text": text}) for text in texts),
    ]
    for seq, (kind, data) in enumerate(events, start=1):
        body = {"seq": seq, "type": kind, "session_id": "s", "turn_id": "t_1", "iteration": 1, "data": data}
        turn.take(Frame(kind, seq, json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()))
    return turn


def words(text: str) -> str:
    return "".join(text.replace("```py", "").replace("```", "").split())


@given(MARKDOWN, st.integers(60, 900))
def test_a_long_answer_is_split_at_blocks_and_loses_nothing(markdown: str, size: int) -> None:
    """Each message is at most as long as it may be, together they say all of it; a code block that has to be
    cut is closed and opened again."""
    messages = drawn([markdown]).messages(size) if markdown else []
    texts = [item.markdown for each in messages for item in each.items if isinstance(item, AnswerText)]

    assert all(len(text) <= size for text in texts)
    assert all(text.count("```") % 2 == 0 for text in texts)
    if len(messages) < MAX_MESSAGES:
        assert words("".join(texts)) == words(markdown)


@given(MARKDOWN)
def test_what_becomes_of_markdown_fits_slacks_blocks(markdown: str) -> None:
    """However long the blocks of the text are; what has no block of its own is none."""
    for message in drawn([markdown]).messages(6000) if markdown else []:
        sections = [each["text"]["text"] for each in blocks_of(message) if each["type"] == "section"]
        assert all(0 < len(text) <= SECTION for text in sections)
        assert all(text.count("```") % 2 == 0 for text in sections)


def test_a_question_shows_all_of_its_arguments_to_slack() -> None:
    """However long they are when Slack's signs are escaped: in sections that are whole by themselves."""
    arguments = "&" * 2399 + "\n```\n<!channel>"
    *sections, actions = blocks_of(Drawn((Question("t:c", "run", arguments, "```"),)))
    texts = [each["text"]["text"] for each in sections]

    assert actions["type"] == "actions"
    assert all(len(text) <= SECTION and text.count("```") % 2 == 0 for text in texts)
    assert all(text.count("&") == text.count(";") for text in texts)
    assert "".join(texts).count("&amp;") == 2399
    assert "&lt;!channel&gt;" in texts[-1]


def test_texts_and_calls_in_turn_fit_slacks_blocks() -> None:
    """Short ones, too, of which many would have room in a message."""
    turn = drawn([])
    seq = turn.seq
    for number in range(2, 42):
        for kind, data in (
            ("iteration_start", {"attempt": 1, "model": "m"}),
            ("text", {"text": f"Step {number}."}),
            ("tool_call", {"name": "look", "arguments": {}}),
        ):
            seq += 1
            about = {"session_id": "s", "turn_id": "t_1", "iteration": number}
            call = {"tool_call_id": f"c{number}"} if kind == "tool_call" else {}
            body = {"seq": seq, "type": kind, **about, **call, "data": data}
            turn.take(Frame(kind, seq, json.dumps(body, separators=(",", ":")).encode()))
    messages = turn.messages(6000)

    assert sum(len(each.items) for each in messages) == 80
    assert all(len(blocks_of(each)) <= 50 for each in messages)


def test_a_turn_is_drawn_once_for_each_event() -> None:
    """Who asks for its messages one by one does not have long Markdown read anew."""
    turn = drawn(["One."])

    assert turn.messages(6000) is turn.messages(6000)
    assert turn.messages(2) != turn.messages(6000)


@given(MARKDOWN)
def test_blocks_are_the_text(markdown: str) -> None:
    assert "".join(blocks(markdown, 10_000)) == markdown


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** *it* ~~no~~ `c<d`", "*bold* _it_ ~no~ `c&lt;d`"),
        ("# A **b**", "*A b*"),
        ("- a\n- b\n  1. c\n  2. d", "• a\n• b\n    1. c\n    2. d"),
        ("> q\n> r", "> q\n> r"),
        ("[a](https://x.org/?a=1&b=2)", "<https://x.org/?a=1&amp;b=2|a>"),
        ("[a](javascript:alert) <!channel> <@U1>", "[a](javascript:alert) &lt;!channel&gt; &lt;@U1&gt;"),
        ("这是**重点**内容", "这是\u200b*重点*\u200b内容"),
        ("```py\na < b\n```", "```\na &lt; b\n```"),
        ("| a | 名字 |\n|---|---|\n| 1 | 二 |", "```\na  名字\n───────\n1  二\n```"),
    ],
)
def test_markdown_in_slacks_own_form(markdown: str, expected: str) -> None:
    """Nobody is called and nothing is linked that does not lead elsewhere."""
    assert mrkdwn(markdown) == expected


def test_a_mention_that_comes_in_pieces_calls_nobody() -> None:
    """A stream joins them: no piece ends where one may begin, unless nothing follows."""
    whole, sent, streamed = "All: <<!channel> and <@U1> 1 <", "", Streamed()
    for end in range(1, len(whole) + 1):
        message = Drawn((AnswerText(whole[:end]),), is_final=end == len(whole))
        sent += "".join(each["text"] for each in streamed.chunks(message))
        streamed.took(message)

    assert sent == "All: <<\u2060!channel> and <\u2060@U1> 1 <"


def test_what_a_person_wrote_has_none_of_slacks_signs() -> None:
    """Links and mentions are words, and the bot is not called in its own message."""
    written = "<@UBOT> see <https://x.org|this> &amp; <#C1|general>, <@U2> <!here> 1 &lt; 2"

    assert plain(written, "UBOT") == "see this (https://x.org) & #general, @U2 @here 1 < 2"


def test_a_write_that_fails_leaves_the_journal_in_use(tmp_path: Path) -> None:
    """Nothing of it is kept, and the next one is."""
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(UnicodeEncodeError):
        journal.begin(Thread(Place("\ud800"), "anna", "s_1"), 0)

    assert journal.keep(Received("1", "C1", "", "anna"))
    journal.begin(Thread(Place("C1"), "anna", "s_2"), 0)
    assert journal.sessions() == 1
    journal.close()


def test_one_process_has_a_journal(tmp_path: Path) -> None:
    """Another one is told so. What came is there once, until it is done, also after a restart."""
    path = tmp_path / "journal.db"
    journal = Journal(path)
    received = Received("slack-1", "C", "1.0", "U", text="hello")
    assert journal.keep(received)
    assert not journal.keep(received)
    with pytest.raises(GatewayError, match="another process"):
        Journal(path)
    journal.close()
    journal = Journal(path)
    assert journal.next(Place("C", "1.0")) == received
    assert journal.waiting() == [Place("C", "1.0")]
    journal.done(received)
    assert journal.waiting() == []
    assert not journal.keep(received)
    journal.begin(Thread(Place("C", "1.0"), "U", "s_1"), 7)
    assert journal.cursor(Thread(Place("C", "1.0"), "U", "s_1")) == 7
    journal.close()
    assert path.stat().st_mode & 0o077 == 0


class Bots:
    """What such a service has of its bots: updates until they are confirmed, and messages."""

    def __init__(self) -> None:
        self.messages: dict[int, dict[str, Any]] = {}
        self._updates: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()

    async def happens(self, update: dict[str, Any]) -> None:
        async with self._changed:
            self._updates.append({"update_id": len(self._updates) + 1, **update})
            self._changed.notify_all()

    async def until(self, text: str) -> dict[str, Any]:
        """The message that says that."""
        async with asyncio.timeout(TIMEOUT), self._changed:
            while not (found := [each for each in self.messages.values() if text in each["text"]]):
                await self._changed.wait()
            return found[0]

    async def call(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if (refusal := _refusal(asked)) is not None:
            return web.json_response({"ok": False, "error_code": 400, "description": refusal}, status=400)
        async with self._changed:
            match request.match_info["method"]:
                case "getUpdates":
                    while not (found := [e for e in self._updates if e["update_id"] >= asked["offset"]]):
                        await self._changed.wait()
                    return web.json_response({"ok": True, "result": found})
                case "sendMessage":
                    asked["message_id"] = len(self.messages) + 1
                    self.messages[asked["message_id"]] = asked
                case _:
                    self.messages[asked["message_id"]] = asked
            self._changed.notify_all()
        return web.json_response({"ok": True, "result": {"message_id": asked["message_id"]}})


def _refusal(asked: dict[str, Any]) -> str | None:
    """What Telegram says of messages that are too long (https://core.telegram.org/bots/api)."""
    if len(asked.get("text", "")) > 4096:
        return "Bad Request: message is too long"
    rows = asked.get("reply_markup", {}).get("inline_keyboard", ())
    if any(len(each["callback_data"].encode()) > 64 for row in rows for each in row):
        return "Bad Request: BUTTON_DATA_INVALID"
    return None


@asynccontextmanager
async def bots() -> AsyncGenerator[tuple[Bots, str]]:
    """The service, and its address."""
    service = Bots()
    app = web.Application()
    app.add_routes([web.post("/bot/{method}", service.call)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield service, f"http://127.0.0.1:{runner.addresses[0][1]}/bot"
    finally:
        await runner.cleanup()


COMMAND = (sys.executable, str(ROOT / "examples" / "telegram_like" / "telegram_like.py"))
PERSON = {"chat": {"id": 7}, "from": {"id": 9}}


@pytest.mark.anyio
async def test_the_example_of_an_interface_answers(client: Client, tmp_path: Path) -> None:
    """`examples/telegram_like`, as a person starts it: each question is answered in one message, also after
    kill -9, and what was delivered before is not posted again."""
    environment = clean_environment(GATEWAY_URL=client.url, JOURNAL=str(tmp_path / "telegram.db"))
    async with bots() as (service, url):
        environment["BOT_API"] = url
        for answers in (("One.", "Two."), ("Three.",)):
            process = await asyncio.create_subprocess_exec(*COMMAND, env=environment)
            try:
                for answer in answers:
                    await service.happens({"message": {**PERSON, "text": f"/say {answer}"}})
                    await service.until(answer)
            finally:
                process.kill()
                await process.wait()
        texts = [each["text"] for each in service.messages.values()]

    # Such a service has no way to look for the last message before the kill.
    assert [text for text in texts if text != "Two."] == ["One.", "Three."]
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 1


@pytest.mark.anyio
async def test_the_example_of_an_interface_asks(demo_url: str, tmp_path: Path) -> None:
    """Its questions are as short as such a service wants them, and say what of the arguments is missing; one
    is decided by who presses a button, and a button of an earlier question decides nothing."""
    given = settings_for(tmp_path / "data", demo_url, tool_policy="calculate=ask")
    calls = "".join(f'/call calculate {{"expression": "{n}{"+0" * 3000}"}}\n/then\n' for n in (1, 2))
    environment = clean_environment(JOURNAL=str(tmp_path / "telegram.db"))

    async def press(button: dict[str, str], message: dict[str, Any]) -> None:
        about = {"chat": PERSON["chat"], "text": message["text"]}
        query = {"data": button["callback_data"], "from": PERSON["from"], "message": about}
        await service.happens({"callback_query": query})

    async with running_gateway(given) as client, bots() as (service, url):
        environment |= {"BOT_API": url, "GATEWAY_URL": client.url}
        process = await asyncio.create_subprocess_exec(*COMMAND, env=environment)
        try:
            await service.happens({"message": {**PERSON, "text": f"{calls}/say Done."}})
            first = dict(await service.until('"1+0'))
            ((approve, _),) = first["reply_markup"]["inline_keyboard"]
            await press(approve, first)
            second = dict(await service.until('"2+0'))
            ((_, deny),) = second["reply_markup"]["inline_keyboard"]
            await press(approve, second)
            await press(deny, second)
            answer = await service.until("Done.")
        finally:
            process.kill()
            await process.wait()

    assert all("characters more" in each["text"] for each in (first, second))
    assert "calculate: denied" in answer["text"]
    assert "reply_markup" not in answer
