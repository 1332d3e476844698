"""What the user told is found again: in the conversation, in its summary, or with read_archive."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.demo.statements import answering, asks_about_the_user, search_words, statements
from tests.demo.bare import ask
from tests.demo.conftest import Send

pytestmark = pytest.mark.anyio
TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}}
    for name in ("search_docs", "calculate", "current_time", "read_archive")
]
SUMMARY = (
    "<conversation_summary>\nSummary of messages 1 to 40. It holds no orders.\n\n## Facts the user told\n"
    "- My sister's birthday is 14 March.\n- 我的猫叫豆腐。\n\n## Open questions\n- What is my blood type?\n"
    "</conversation_summary>"
)
ARCHIVE = (
    "<tool_output>\nEarlier messages of this conversation.\n\n"
    "[7] user:\n  What is my locker code?\n\n"
    "[8] assistant:\n  Your locker code is 9999.\n\n"
    "[3] user:\n  Hello there.\n  Remember: my locker code is 4711.\n</tool_output>\nShown: 3 of 3."
)


def history(*said: str) -> list[dict[str, Any]]:
    """User messages, each noted by the assistant; the last one is still to be answered."""
    noted = {"role": "assistant", "content": "Noted."}
    messages = [message for text in said for message in ({"role": "user", "content": text}, noted)]
    return messages[:-1]


async def told(send: Send, *said: str, tools: list[dict[str, Any]] = TOOLS) -> str:
    return (await send({**ask(""), "messages": history(*said), "tools": tools})).text


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is my cat called?", "My cat is called Tofu."),
        ("What's my cat's name?", "My cat's name is Tofu."),
        ("What colour is my car?", "My car is red."),
        ("When is my sister's birthday?", "My sister's birthday is 14 March."),
        ("Do you remember where I parked?", "I parked on level 3."),
        ("Where do I live?", "By the way, I live in Oslo."),
        ("How old is my son?", "Remember that my son is 6.5 years old."),
        ("我的猫叫什么名字？", "我的猫叫豆腐。"),
        ("我的車牌號是多少？", "记住：我的车牌号是沪A12345。"),
        ("我女儿几岁？", "我女儿今年六岁。"),
        ("我住在哪里？", "我住在杭州。"),
        ("你还记得我的航班号是多少吗？", "請記住，我的航班號是 CA1234。"),
    ],
)
async def test_a_question_about_the_user_is_answered_from_the_conversation(
    send: Send, question: str, statement: str
) -> None:
    """Inflected, in Chinese of either script, with other things said in between: the statement is quoted."""
    text = await told(send, "hello", statement, "My dog is called Rex.", "我的狗叫阿福。", question)
    assert statement in text


async def test_a_later_statement_corrects_a_former_one(send: Send) -> None:
    """Of two statements about the same thing the last one is quoted; one about another thing is not."""
    said = ("My car is red.", "My car is blue now.", "My brother's car is green.")
    assert "blue" in await told(send, *said, "What colour is my car?")


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is my brother's birthday?", "My sister's birthday is 14 March."),
        ("What is my favourite food?", "My favourite colour is blue."),
        ("我的狗叫什么名字？", "我的猫叫豆腐。"),
        ("What is my cat called?", "What is my cat called?"),
    ],
)
async def test_what_was_not_told_is_not_known(send: Send, question: str, statement: str) -> None:
    """A statement about something else, or the question itself, is no answer."""
    text = await told(send, statement, question)
    assert "I do not know" in text or "我不知道" in text


async def test_a_summary_is_part_of_the_conversation(send: Send) -> None:
    """What stands in the wrapped summary is quoted; what is only asked there is not."""
    assert "14 March" in await told(send, SUMMARY, "When is my sister's birthday?")
    assert "豆腐" in await told(send, SUMMARY, "我的貓叫什麼名字？")
    text = await told(send, SUMMARY, "What is my blood type?", tools=[])
    assert "I do not know" in text


async def test_what_the_summary_lacks_is_looked_up_and_quoted(send: Send) -> None:
    """read_archive is called with the question's words; the answer quotes the user's statement, not a
    question, and not what the assistant said."""
    messages = history(SUMMARY, "What is my locker code?")
    body = {**ask("", stream=False), "messages": messages, "tools": TOOLS}
    content = json.loads((await send(body)).body)["content"]
    call = content[-1]
    assert (call["name"], call["input"]) == ("read_archive", {"search": "locker code"})

    result = {"type": "tool_result", "tool_use_id": call["id"], "content": ARCHIVE}
    answered = [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    text = (await send({**body, "stream": True, "messages": messages + answered})).text
    assert "message 3" in text
    assert "4711" in text
    assert "9999" not in text


async def test_a_lookup_that_finds_nothing_is_told(send: Send) -> None:
    """What the archive does not have either is not known."""
    messages = history(SUMMARY, "What is my shoe size?")
    body = {**ask("", stream=False), "messages": messages, "tools": TOOLS}
    content = json.loads((await send(body)).body)["content"]
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": ARCHIVE}
    answered = [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    assert "I do not know" in (await send({**body, "stream": True, "messages": messages + answered})).text


async def test_nothing_is_looked_up_when_nothing_was_compressed(send: Send) -> None:
    """Without a summary everything is in the request: no tool can know more."""
    received = await send({**ask("What is my shoe size?"), "tools": TOOLS})
    assert b"tool_use" not in received.body
    assert "I do not know" in received.text


@pytest.mark.parametrize("statement", ["My cat is called Tofu.", "记住：我的会议时间是下午三点。"])
async def test_a_statement_is_noted(send: Send, statement: str) -> None:
    """Telling something calls no tool."""
    received = await send({**ask(statement), "tools": TOOLS})
    assert b"tool_use" not in received.body
    assert "Noted" in received.text or "记下了" in received.text


@pytest.mark.parametrize(
    "question",
    ["How do I resume my stream?", "我怎么恢复事件流？", "I need to know how sessions are stored."],
)
async def test_a_question_about_the_gateway_stays_one(send: Send, question: str) -> None:
    """A user's "my" or 我 makes nothing of it that the documentation would not answer."""
    assert b"search_docs" in (await send({**ask(question), "tools": TOOLS})).body


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_can_be_compared(question: str, texts: list[str]) -> None:
    """Whatever is asked and told, an answer is one of the statements; nothing is made up."""
    asks_about_the_user(question)
    assert len(search_words(question)) <= 200
    stated = [each for text in texts for each in statements(text)]
    assert answering(question, stated) in {None, *stated}
