"""A long session: what was said at its beginning is known at its end, however often it was compressed."""

from typing import Any

import pytest

from tests.harness import Client, running_gateway, text_of
from tests.product import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.long]

TURNS = 200
COMPRESSED_AFTER = {69, 139, TURNS - 1}
FACTS = [
    ("My sister's birthday is 14 March.", "When is my sister's birthday?", "14 March"),
    ("My cat is called Tofu.", "What is my cat called?", "Tofu"),
    ("Remember: my locker code is 4711.", "What is my locker code?", "4711"),
    ("My dentist is Dr. Lindqvist.", "Who is my dentist?", "Lindqvist"),
    ("I parked the car on level P3.", "Do you remember where I parked the car?", "P3"),
    ("My favourite colour is teal.", "What is my favourite colour?", "teal"),
    ("My flight to Lisbon leaves at 06:45.", "When does my flight to Lisbon leave?", "06:45"),
    ("My landlord's name is Ferreira.", "What is my landlord's name?", "Ferreira"),
    ("My shoe size is 43.5.", "What is my shoe size?", "43.5"),
    ("My bicycle has the frame number WX-90817.", "What is my bicycle's frame number?", "WX-90817"),
    ("我的狗叫阿福。", "我的狗叫什么名字？", "阿福"),
    ("我女儿今年六岁。", "我女儿几岁？", "六岁"),
    ("记住：我的车牌号是沪A12345。", "我的车牌号是多少？", "沪A12345"),
    ("我的生日是五月三日。", "我的生日是哪一天？", "五月三日"),
    ("我的航班号是 CA1831。", "你还记得我的航班号吗？", "CA1831"),
    ("我最喜欢的菜是麻婆豆腐。", "我最喜欢的菜是什么？", "麻婆豆腐"),
    ("我的護照在抽屜裡。", "我的护照在哪里？", "抽屜"),
    ("我的医生姓欧阳。", "我的医生姓什么？", "欧阳"),
    ("我的会员卡号码是 88-2046。", "我的会员卡号码是多少？", "88-2046"),
    ("我太太对花生过敏。", "我太太对什么过敏？", "花生"),
]
"""What the user says, what is asked at the end, and what the answer must have."""


async def test_facts_of_the_beginning_are_known_after_three_compressions(settings: Settings) -> None:
    """Of 20 facts told in the first of 200 turns, at least 19 are answered after three compressions: from the
    summary while it has room, else from the archive."""
    tight = settings.model_copy(update={"summary_tokens": 300})
    async with running_gateway(tight) as client:
        session = await client.session()
        for turn in range(TURNS):
            message = FACTS[turn][0] if turn < len(FACTS) else f"/say Paragraph {turn}. {'And so on. ' * 20}"
            await client.chat(message, session_id=session)
            if turn in COMPRESSED_AFTER:
                compressed = await client.post(f"/api/sessions/{session}/compress")
                assert compressed.status_code == 201, compressed.text

        history = await client.http.get(f"/api/sessions/{session}/compressions")
        assert [row["version"] for row in history.json()["versions"]] == [1, 2, 3]
        answers = {question: await asked(client, session, question) for _, question, _ in FACTS}

    known = [expected for _, question, expected in FACTS if expected in text_of(answers[question])]
    looked_up = [question for question, message in answers.items() if calls_of(message)]
    assert len(known) >= 19, sorted({expected for *_, expected in FACTS} - set(known))
    assert 0 < len(looked_up) < len(FACTS)
    assert {name for message in answers.values() for name in calls_of(message)} == {"read_archive"}


async def asked(client: Client, session: str, question: str) -> list[dict[str, Any]]:
    return await client.chat(question, session_id=session)


def calls_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["name"] for event in events if event["type"] == "tool_call"]
