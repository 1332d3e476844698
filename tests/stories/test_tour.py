"""What a newcomer is shown without a key, in English and in Chinese, through the whole gateway."""

from typing import NamedTuple

import pytest

from gateway.demo.demo_tools import demo_tools
from tests.harness import running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import ask, parked

pytestmark = pytest.mark.anyio


class Words(NamedTuple):
    """What is said at each stop of the tour, and what an answer has in that language."""

    question: str
    note: str
    orders: str
    remember: str
    make: str
    thought: str
    anything: str
    statement: str
    about_it: str
    known: str
    try_to_say: str


ENGLISH = Words(
    question="How do I resume a stream? And what is 17*23?",
    note="Note that the door code is 4711.",
    orders="Show me 10000 sample orders",
    remember="Remember that I like a plain design style.",
    make="Design a logo for me.",
    thought="Think about 6*7",
    anything="Why do birds sing",
    statement="My cat is called Tofu.",
    about_it="What is my cat called?",
    known="Tofu",
    try_to_say="Try to say",
)
CHINESE = Words(
    question="怎么恢复一个流？17*23 等于多少？",
    note="记一下：门禁密码是 4711",
    orders="给我一万条示例订单",
    remember="记住，我喜欢简约的设计风格",
    make="帮我设计一个 logo",
    thought="思考一下 6*7",
    anything="鸟儿为何歌唱",
    statement="我的猫叫豆腐。",
    about_it="我的猫叫什么？",
    known="豆腐",
    try_to_say="可以试着说",
)


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_every_stop_of_the_tour_is_shown(settings: Settings, words: Words) -> None:
    """Retrieval, calls, an approval, an artifact, a memory that is used elsewhere, thinking, a compression
    after which what was said is still known; and anything else is answered by what to try."""
    thinking = settings.model_copy(update={"thinking_budget": 1024})
    async with running_gateway(thinking, *demo_tools(settings.data_dir)) as client:
        asked = await client.chat(words.question)
        waiting = await parked(await ask(client, words.note))
        await waiting.decide("approve", "write_note")
        noted = await waiting.all_events()
        orders = await client.chat(words.orders)
        remembered = await client.chat(words.remember)
        made = await client.chat(words.make)
        thought = await client.chat(words.thought)
        session = await client.session()
        await client.chat(words.statement, session_id=session)
        anything = await client.chat(words.anything, session_id=session)
        for _ in range(4):
            await client.chat("/say and so on", session_id=session)
        compressed = await client.post(f"/api/sessions/{session}/compress")
        about_it = await client.chat(words.about_it, session_id=session)

    assert {"retrieval", "text", "tool_call", "tool_result", "done"} <= set(types(asked))
    assert "**391**" in text_of(asked)
    assert the(noted, "approval_request")["name"] == "write_note"
    assert "4711" in (settings.data_dir / "notes.md").read_text(encoding="utf-8")
    assert the(orders, "artifact")["size"] > 2_000_000
    memory = the(remembered, "memory")
    assert memory["kind"] == "preference"
    assert memory["memory_id"] in text_of(made)
    assert "retrieval" in types(made)
    assert "thinking" in types(thought)
    assert words.try_to_say in text_of(anything)
    assert compressed.status_code == 201
    assert words.known in text_of(about_it)


class Natural(NamedTuple):
    """What a person says of themselves in one session, and asks in the next ones."""

    name: str
    asks_name: str
    known: str
    wish: str
    heeded: str
    forget: str


@pytest.mark.parametrize(
    "said",
    [
        Natural(
            name="Hello! My name is Lena.",
            asks_name="what's my name?",
            known="Lena",
            wish="From now on answer in traditional Chinese",
            heeded="你告訴過我的話",
            forget="Please forget what I told you about my name.",
        ),
        Natural(
            name="你好，我叫林晓舟。",
            asks_name="我叫什么名字?",
            known="林曉舟",
            wish="以后请用繁體中文回答",
            heeded="你告訴過我的話",
            forget="请把我的名字忘掉。",
        ),
    ],
    ids=["english", "chinese"],
)
async def test_natural_sentences_about_memory_are_understood(settings: Settings, said: Natural) -> None:
    """What somebody is called, how they want to be answered and what is to be forgotten hold in the sessions
    that follow."""
    async with running_gateway(settings) as user:
        assert "memory" in types(await user.chat(said.name, session_id="first"))
        wished = text_of(await user.chat(said.wish, session_id="second"))
        answered = text_of(await user.chat(said.asks_name, session_id="third"))
        await user.chat(said.forget, session_id="third")
        at_last = text_of(await user.chat(said.asks_name, session_id="fourth"))

    assert "我記住了" in wished
    assert said.heeded in answered
    assert said.known in answered
    assert said.known not in at_last
    assert "導覽" in at_last
