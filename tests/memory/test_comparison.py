"""When two memories say the same, when they contradict each other, and that most do neither."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.memory.similarity.comparison import compare, contradicts, is_same, replaces
from tests.memory.pairs import PAIRS, confusion, decided
from tests.memory.search.recall_set import KNOWN

SAME = [
    ("我喜欢简约的设计风格", "用户很喜欢简约设计风格"),
    ("我喜歡簡約的設計風格", "我喜欢简约的设计风格。"),
    ("我讨厌香菜", "我不喜欢香菜"),
    ("我住在上海", "用户现在住在上海"),
    ("每周三开会", "每星期三开会"),
    ("我有三个孩子", "我有3个孩子"),
    ("预算是5,000元", "预算是5000元"),
    ("每周日休息", "每礼拜天休息"),
    ("会议在十二点", "会议在12点"),
    ("I like plain design.", "The user likes a plain design"),
    ("The user's office is in Berlin", "My office is in Berlin now"),
    ("I don't like coffee", "The user does not like coffee"),
    ("I hate coffee", "I dislike coffee"),
    ("I like it very plain", "I really like it plain"),
    ("I have two cats", "I have 2 cats"),
    ("Meetings on Mondays", "Meetings every Monday"),
    ("I can't eat nuts", "I cannot eat nuts"),
]
CONTRADICTING = [
    ("我喜欢香菜", "我不喜欢香菜"),
    ("我喜欢咖啡", "用户讨厌咖啡"),
    ("我對花生過敏", "我对花生不过敏"),
    ("我去过日本", "我没有去过日本"),
    ("我有猫", "我没有猫"),
    ("回答要详细", "回答不要详细"),
    ("截止日期是5月3日", "截止日期是5月10日"),
    ("截止时间是9:30", "截止时间改为10:30"),
    ("项目预算是5000元", "项目预算为8000元"),
    ("我今年30岁", "我31岁"),
    ("我有两只猫", "我有三只猫"),
    ("I like coffee", "I don't like coffee"),
    ("I like coffee", "The user hates coffee"),
    ("I eat meat", "I never eat meat"),
    ("I no longer work at Google", "I work at Google"),
    ("The deadline is May 3", "The deadline is June 3"),
    ("I am 30 years old", "I am 31 years old"),
    ("The port is 8080", "The port is 9090"),
]
NOT_CERTAINLY = [
    # one lies in the other
    ("I live in Germany", "I live in Berlin"),
    ("我住在北京", "我住在朝阳区"),
    ("我老家在湖南", "我老家在长沙"),
    ("Our office is in Berlin", "Our office is in Kreuzberg"),
    ("I work at Google", "I work at DeepMind"),
    # several at once
    ("I go running every Monday", "I go running every Thursday"),
    ("我每周一健身", "我每周三健身"),
    ("每周三下午3点开会", "每周三下午4点开会"),
    ("Our database is PostgreSQL", "Our database is Redis"),
    ("项目的数据库用PostgreSQL", "项目的数据库是MySQL"),
    ("我的手机号是13800138000", "我的手机号是13900139000"),
    # another form of the same
    ("我叫张伟", "我叫Wei"),
    ("我最喜欢的颜色是蓝色", "我最喜欢的颜色是青色"),
]
REPLACED = [
    ("I live in Germany", "I now live in Berlin"),
    ("I live in Berlin", "I moved to Munich"),
    ("我住在北京", "用户现在住在上海"),
    ("我住在北京", "我搬到上海了"),
    ("我的办公室在北京", "我的办公室搬到上海了"),
    ("My office is in Berlin", "My office moved to Paris"),
    ("我每周一健身", "我改成每周三健身"),
    ("我每周一健身", "以后我每周三健身"),
    ("I go running every Monday", "From now on I go running every Thursday"),
    ("I work at Google", "I work at Meta now"),
    ("I work at Google", "I no longer work at Google"),
    ("项目的数据库用PostgreSQL", "项目的数据库换成了MySQL"),
    ("Our database is PostgreSQL", "Our database is now Redis"),
    ("项目预算是5000元", "项目预算改为8000元"),
    ("The deadline is May 3", "The deadline moved to June 3"),
    ("我不吃辣", "我吃辣"),
    ("I like coffee", "I don't like coffee"),
]
DIFFERENT = [
    *NOT_CERTAINLY,
    # one has several
    ("我喜欢茶", "我喜欢咖啡"),
    ("I like tea", "I like coffee"),
    ("我在学日语", "我在学法语"),
    ("我的猫叫小白", "我的猫叫小黑"),
    ("小明是医生", "小明是父亲"),
    ("My brother is tall", "My brother is a doctor"),
    ("Python is fast", "Python is dynamically typed"),
    ("我喜欢用Vim", "我喜欢用Emacs"),
    ("每周三游泳", "每周四跑步"),
    # the same thing, another side of it
    ("My office is in Berlin", "My office is bright"),
    ("我的办公室在北京", "我的办公室在三楼"),
    ("我们公司在招人", "我们公司在上海"),
    ("I work at Google", "I work at night"),
    ("我在腾讯上班", "我在北京上班"),
    ("I live in Berlin", "I live in a small flat"),
    ("我住得很远", "我住在北京"),
    ("预算是5000元", "预算很紧张"),
    ("The deadline is tight", "The deadline is Friday"),
    ("我的老板叫王强", "我的老板是上海人"),
    ("我的手机号是13800001111", "我的手机是苹果"),
    # one is more exact
    ("I like tea", "I like green tea"),
    ("我不喜欢香菜", "我喜欢香菜汤"),
    ("我喜欢花生", "我喜欢花生酱"),
    ("我住在北京市海淀区", "我住在北京"),
    ("版本是3", "版本是3.11"),
    ("I do not eat meat", "I eat meat on Sundays"),
    ("会议在每周三和周五", "会议在每周三"),
    (
        "出差时必须提醒我对花生严重过敏而且要带好药物和处方单",
        "出差时必须提醒我对花生和腰果严重过敏而且要带好药物和处方单",
    ),
    # about something else
    ("我的猫叫小白", "我的狗叫小黑"),
    ("我的生日是5月3日", "小明的生日是5月10日"),
    ("My office is in Berlin", "My home is in Paris"),
    ("会议室301有投影", "会议室302有投影"),
    ("Room 301 is cleaned every Monday", "Room 302 is cleaned every Monday"),
    ("PR 12 needs review", "PR 13 needs review"),
    ("The report is 5 pages", "The report is 6 pages"),
    ("I write C", "I write C++"),
    ("Mary is allergic to nuts", "Marie is allergic to nuts"),
    ("The key is with Ann", "The key is with Anne"),
    ("Use tabs in Python", "Use tabs in Go"),
    ("用户的猫叫小白，今年三岁，喜欢吃鱼和鸡肉", "用户的狗叫小白，今年三岁，喜欢吃鱼和鸡肉"),
    # at another time
    ("I ran 5 km", "I ran 10 km"),
    ("昨天我买了3本书", "昨天我买了5本书"),
    ("I met Bob on 3 May", "I met Bob on 7 May"),
    ("今天我上班", "今天我不上班"),
    ("My office was in Berlin", "My office is in Paris"),
    # the same words the other way round
    ("Alice likes Bob", "Bob likes Alice"),
    ("我要从北京搬到上海", "我要从上海搬到北京"),
    ("我喜欢茶不喜欢咖啡", "我不喜欢茶喜欢咖啡"),
    ("I like tea but not coffee", "I like coffee but not tea"),
    # other units, other words, other signs
    ("价格是10美元", "价格是10欧元"),
    ("我会游泳", "我要游泳"),
    ("I like it 👍", "I like it 👎"),
    # more than one statement
    ("My office is in Berlin. I like it.", "My office is in Paris."),
    ("", "我"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words_is_the_same(one: str, other: str) -> None:
    """Script, speaker, fillers, number words and contractions make no difference, either way round."""
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(("one", "other"), CONTRADICTING)
def test_what_cannot_both_be_true_contradicts(one: str, other: str) -> None:
    """A negation, or another number of one measure."""
    assert contradicts(one, other)
    assert contradicts(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_can_both_be_true_is_different(one: str, other: str) -> None:
    """Also where nearly all words are equal; neither takes the other's place."""
    assert compare(one, other) == "different"
    assert compare(other, one) == "different"
    assert not replaces(one, other)
    assert not replaces(other, one)


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_what_says_that_something_has_changed_takes_its_place(old: str, new: str) -> None:
    """Or what denies it."""
    assert replaces(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("项目预算是5000元", "项目预算是8000元"),
        ("The port is 8080", "The port is 9090"),
        ("I live in Berlin", "I live in Paris"),
    ],
)
def test_without_a_word_of_it_both_stay(old: str, new: str) -> None:
    """Though only one may be true: which one, somebody has to say, with it or in the words before it."""
    assert not replaces(old, new)
    assert replaces(old, new, f"不对，{new}")
    assert replaces(old, new, f"Correction: {new}")


def test_a_word_of_change_does_not_bring_unrelated_things_together() -> None:
    """It takes the place of what is about the same alone."""
    assert not replaces("I like tea", "I now like coffee")
    assert not replaces("我住在北京", "我现在养了一只猫")
    assert not replaces("My office is in Berlin", "My home is now in Paris")
    assert not replaces("我住在北京" * 100, "我现在住在上海")


@pytest.mark.parametrize("pair", PAIRS["two"], ids=" | ".join)
def test_two_facts_stay_two(pair: Sequence[str]) -> None:
    """That differ in a name, a number, a place, a negation, or in what a word of change is about."""
    assert decided(*pair) == "two"


def test_one_fact_is_one_and_a_correction_is_found() -> None:
    """Nearly always; and where it is not seen, both are kept."""
    found = confusion()

    assert found["same", "same"] == len(PAIRS["same"])
    assert found["corrections", "corrections"] >= 0.96 * len(PAIRS["corrections"])
    assert found["corrections", "same"] == 0


def test_a_correction_replaces_nothing_of_another_person() -> None:
    """None of a hundred corrections touches any of the memories about other things."""
    assert [
        (known.content, new)
        for known in KNOWN
        for _, new, *message in PAIRS["corrections"]
        if replaces(known.content, new, *message)
    ] == []


def test_unrelated_memories_never_retire_each_other() -> None:
    """Of a hundred memories of one person, in two languages, no two are the same or contradict each other."""
    contents = [known.content for known in KNOWN] + [one for one, _ in DIFFERENT if one]

    near = [pair for pair in combinations(dict.fromkeys(contents), 2) if compare(*pair) != "different"]

    assert near == []


@settings(max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60))
def test_the_order_makes_no_difference_for_any_text(one: str, other: str) -> None:
    """Nothing raises, whatever is compared, and a text is the same as itself."""
    assert compare(one, other) == compare(other, one)
    assert not replaces(one, one, other)
    assert is_same(one, one)


@pytest.mark.parametrize("piece", ["a.", "a ", "我的", "a:", "每", "预算", "no ", "my office is in A"])
def test_a_long_repetition_is_compared_at_once(piece: str) -> None:
    """No pattern goes back and forth over it: this ends."""
    text = (piece * 400)[:290]

    assert is_same(text, text + " ")
    for message in (f"now {text}", f"{text} moved to", f"从{text}换成", f"{text} instead of {text}"):
        assert not replaces(text, message[:299])
    assert compare(f"预算是{text},", f"预算是{text[:-1]}1,") in {"same", "different"}
    assert compare(text, text * 100) == "different"
