"""Whether a message needs memories: the rules."""

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gateway.memory.retrieval_gate.gate import decide, start_of

YES = [
    "",
    "我们上次讨论的技术方案是什么?",
    "我們上次討論的技術方案是什麼？",
    "React和Vue我们上次选了哪个?",
    "React 和 Vue 我們上次選了哪個？",
    "你还记得我的生日吗",
    "我上次說我喜歡什麼顏色？",
    "之前那个方案",
    "在之前的讨论中我们选了什么",
    "上周我们聊的内容",
    "我们上个月定的预算是多少",
    "技术选型的结论是什么",
    "我的猫叫什么",
    "推荐一本书",
    "帮我选一个礼物",
    "幫我設計一個 logo",
    "我该吃什么",
    "as I said, keep it short",
    "Remember when we talked about Kyoto?",
    "What did we decide about the database?",
    "Do you remember my name?",
    "what's my name",
    "why did we drop Redis?",
    "Recommend me a book",
    "should I take the train?",
    "pick a laptop for me",
    "You told me about a cafe earlier.",
    "",
][1:-1]
NO = [
    "",
    "React和Vue哪个更好?",
    "React 和 Vue 哪個更好？",
    "什么是光合作用?",
    "请问什么是光合作用",
    "翻译成英文：我上次去北京很开心",
    "幫我翻譯成英文：我之前說過",
    "translate to Chinese: as I said last time, my dog is ill",
    "What is a monad?",
    "Can you tell me how to boil eggs",
    "What's the difference between TCP and UDP",
    "explain this code: ```my = last time```",
    'What does "last time" mean?',
    "能不能解释一下量子纠缠",
    "如何实现快速排序",
    "",
][1:-1]
EMPTY = [
    "12*3+4等于多少",
    "What is 12 * 7?",
    "你好",
    "你好你好",
    "早上好！",
    "Hi there!",
    "谢谢你！",
    "thanks a lot",
    "？",
]
MAYBE = [
    "",
    "帮我做个 logo",
    "write me a poem",
    "Write a function that sorts a list",
    "帮我写一个减肥方案",
    "推荐系统是什么",
    "在部署之前需要做什么",
    "数据库用哪个",
    "客户是谁",
    "Who is Alice?",
    "what is the deadline?",
    "my code throws an error",
    "我的代码报错了怎么办",
    "继续",
    "明天开会",
    "",
][1:-1]
OTHER_LANGUAGES = [
    "Was haben wir letzte Woche zum Logo entschieden?",
    "Was ist Photosynthese und wie funktioniert sie?",
    "Qu'avons-nous décidé la semaine dernière à propos du logo ?",
    "¿Qué decidimos la semana pasada sobre el logo?",
    "Что мы решили на прошлой неделе?",
    "先週ロゴについて何を決めましたか？",
]
CONCLUSIONS = {"project_decision", "discussion_conclusion"}


@pytest.mark.parametrize("message", YES)
def test_what_refers_to_the_past_or_the_user_needs_memories(message: str) -> None:
    """Everything about them, within the whole budget, with a reason."""
    decision = decide(message, message_count=4, budget_tokens=800)

    assert (decision.needed, decision.mode, decision.budget_tokens) == ("yes", "details", 800)
    assert decision.notes


@pytest.mark.parametrize("message", NO)
def test_what_everybody_gets_the_same_answer_to_needs_none(message: str) -> None:
    """General knowledge, and texts to work on, whatever they say: a part of the budget is for what a memory
    plainly answers."""
    decision = decide(message, message_count=4, budget_tokens=1000)

    assert (decision.needed, decision.mode, decision.budget_tokens) == ("no", "catalog", 400)
    assert decision.notes


@pytest.mark.parametrize("message", EMPTY)
def test_where_there_is_nothing_to_look_for_nothing_is(message: str) -> None:
    """Small talk and sums have no budget."""
    decision = decide(message, message_count=4)

    assert (decision.needed, decision.budget_tokens) == ("no", 0)
    assert decision.notes


@pytest.mark.parametrize("message", MAYBE)
def test_where_nobody_can_tell_summaries_are_looked_through(message: str) -> None:
    """In a part of the budget, of all types, whenever they changed."""
    decision = decide(message, message_count=0, budget_tokens=1000)

    assert (decision.needed, decision.mode, decision.budget_tokens) == ("maybe", "catalog", 400)
    assert (decision.types, decision.time_range) == ((), "all")


@pytest.mark.parametrize("message", OTHER_LANGUAGES)
def test_a_message_in_another_language_is_undecided(message: str) -> None:
    """The German “was” asks, and is no question about general knowledge: its cues are not known."""
    decision = decide(message, message_count=4, budget_tokens=1000)

    assert (decision.needed, decision.mode, decision.budget_tokens) == ("maybe", "catalog", 400)


def test_a_question_about_plans_asks_for_decisions_and_one_about_the_user_for_preferences() -> None:
    """So that what is looked for is of a fitting type."""
    assert set(decide("我们上次讨论的技术方案是什么?", message_count=0).types) >= CONCLUSIONS
    assert set(decide("React和Vue我们上次选了哪个?", message_count=0).types) >= CONCLUSIONS
    assert {"preference", "user_preference", "constraint"} <= set(
        decide("推荐一家餐厅", message_count=0).types
    )
    assert decide("我上次说我喜欢什么颜色", message_count=0).types == ()


def test_in_a_project_its_plans_are_what_was_decided() -> None:
    """Without a project the same question may be anybody's."""
    assert decide("上线时间定在哪天? 进度如何", message_count=0).needed == "maybe"
    assert decide("上线时间定在哪天? 进度如何", message_count=0, project_id="p").needed == "yes"
    assert decide("what is the deadline?", message_count=0, project_id="p").needed == "yes"


def test_the_first_message_of_a_session_that_asks_for_something_to_be_made_may_gain() -> None:
    """Later ones have their session to go by, and general knowledge needs none."""
    assert decide("write a summary of what is a monad", message_count=0).needed == "maybe"
    assert decide("calculate the sum of 1 and 2", message_count=0).needed == "no"


@pytest.mark.parametrize(
    ("message", "time_range"),
    [
        ("我们上周讨论了什么", "last_7_days"),
        ("我們最近討論的方案", "last_7_days"),
        ("What did we discuss last week?", "last_7_days"),
        ("我们上个月定的预算", "last_30_days"),
        ("what did we decide last month", "last_30_days"),
        ("我们上次讨论了什么", "all"),
        ("最近有什么好电影推荐", "all"),
    ],
)
def test_a_time_narrows_what_refers_to_the_past(message: str, time_range: str) -> None:
    """What somebody likes does not age in a week."""
    assert decide(message, message_count=0).time_range == time_range


def test_the_notes_name_the_words_that_decided() -> None:
    """People see why something was looked for."""
    notes = " ".join(decide("我们上周说过的预算", message_count=0).notes)

    assert "“上周”" in notes
    assert "7 days" in notes


@examples(max_examples=200)
@given(st.text(max_size=300), st.integers(0, 5), st.sampled_from([None, "p"]))
def test_any_message_gets_a_decision(message: str, count: int, project: str | None) -> None:
    """Within the budget, and always with a reason."""
    decision = decide(message, message_count=count, project_id=project, budget_tokens=500)

    assert 0 <= decision.budget_tokens <= 500
    assert decision.needed == "no" or decision.budget_tokens > 0
    assert all(0 < len(note) < 200 for note in decision.notes)


@pytest.mark.parametrize(
    "piece", ['"', "`", "'", "```a", "在", "我", "你好", "please ", "ok ", "1", "a:", "翻译"]
)
def test_a_megabyte_of_anything_is_decided_at_once(piece: str) -> None:
    """No pattern goes back and forth over it, and only its ends are read: this ends."""
    decide(piece * (1_000_000 // len(piece)), message_count=0)

    assert decide(f"{piece * 30_000} 我们上次说的是什么", message_count=0).needed == "yes"


def test_a_time_range_begins_so_many_days_before_its_end() -> None:
    """In Unix milliseconds; all time has no beginning."""
    assert start_of("last_7_days", 604_800_001) == 1
    assert start_of("last_30_days", 2_592_000_000) == 0
    assert start_of("all", 5) is None
