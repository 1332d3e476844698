"""Which memories an answer made use of: also one in words of its own, or in the other language."""

import pytest

from gateway.memory.citation_estimate import cited_in
from gateway.memory.validation import NewMemory, make
from tests.product import MemoryRow, Scope

ID = "m_0000000000000001"


def row(content: str, memory_id: str = ID) -> MemoryRow:
    return make(NewMemory(content), Scope("ann"), memory_id, 1)


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("考虑到你喜欢简约的设计风格，我用了黑白。", True),
        ("Here it is, see [m_0000000000000001].", True),
        ("這個標誌考慮了您喜歡簡約的設計風格。", True),
        ("这是一个华丽的标志。", False),
        ("", False),
    ],
)
def test_a_memory_is_cited_by_its_id_or_by_most_of_its_words(answer: str, used: bool) -> None:
    """Whether it was looked up or stands in the prompt."""
    assert cited_in([row("喜欢简约的设计风格")], answer) == ([ID] if used else [])


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("I see my dentist on Mondays.", "Your appointment falls on a Monday, as always."),
        ("Prefers trains to planes.", "I would go by rail rather than fly; there is a night train."),
        ("喜欢简约的设计风格", "考虑到您偏好极简风，我用了黑白两色。"),
        ("週三晚上不能開會", "您周三晚间没空，改到周四吧。"),
        ("我们决定用 PostgreSQL 做数据库，因为要事务", "We settled on PostgreSQL because of transactions."),
        ("The offsite is on 11 May in Lyon.", "团建定在5月11日，地点是 Lyon。"),
        ("对花生过敏", "I left the peanuts out."),
    ],
)
def test_what_was_looked_up_is_cited_in_other_words_and_in_the_other_language(
    content: str, answer: str
) -> None:
    """By a noun that stayed, a name or a number; where nothing can be compared, the best one."""
    assert cited_in([], answer, {ID: content}) == [ID]


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("Prefers trains to planes.", "The museum is open until six."),
        ("喜欢简约的设计风格", "这是一个华丽的标志。"),
        ("每周三晚上不能开会", "今天天气不错，可以出去走走。"),
        ("Office hours end at 5 pm", "Python 3.11 was released in October."),
    ],
)
def test_what_was_looked_up_and_not_used_is_not_cited(content: str, answer: str) -> None:
    """To be found is not to be used."""
    assert cited_in([], answer, {ID: content}) == []


def test_of_several_only_the_best_counts_where_words_cannot_be_compared() -> None:
    """The others by a name or a number that the answer has."""
    found = {ID: "对花生过敏", "m_2": "不喜欢香菜", "m_3": "冰箱是 Bosch 的"}

    assert cited_in([], "I left the peanuts out; your Bosch keeps it cool.", found) == [ID, "m_3"]


def test_what_stands_in_the_prompt_is_cited_in_the_other_language_by_names_and_numbers() -> None:
    """Two of them: one alone may be chance."""
    rows = [row("The offsite is on 11 May in Lyon."), row("Lyon is where the printer is.", "m_2")]

    assert cited_in(rows, "团建定在5月11日，地点是 Lyon。") == [ID]
