"""Which statements are about one thing and give it another value, so that a person is asked which one holds;
and that nobody is asked about what may well hold together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.memory.similarity.claims import are_contrary, claims_of
from tests.memory.pairs import PAIRS, Decision

CONTRARY = [
    ("I live in Ghent.", "I live in Antwerp."),
    ("Lives in Ghent", "The user lives in Antwerp, Belgium"),
    ("My sister lives in Ghent", "my sister lives in Paris"),
    ("我住在上海。", "我現在住在臺北"),
    ("My name is Ada", "my name is Grace"),
    ("我叫李雷", "我的名字是韓梅梅"),
    ("I work at Acme", "I work for Globex"),
    ("我在华为工作", "我在騰訊上班"),
    ("我们公司在上海", "我們公司在北京"),
    ("I am allergic to nuts", "I'm not allergic to nuts"),
    ("我對花生過敏", "我对花生不过敏"),
    ("I like tea", "I don't like tea"),
    ("Likes tea", "I hate tea"),
    ("我喜欢喝茶", "我不喜歡喝茶"),
    ("喜欢喝茶", "我讨厌喝茶"),
    ("I can swim", "I can't swim"),
    ("I'm a vegetarian", "I eat meat"),
    ("I don't eat meat", "I eat beef"),
    ("我吃素", "我吃肉"),
    ("我吃素", "我喜歡吃肉"),
    ("I prefer tea to coffee", "I prefer coffee to tea"),
    ("我更喜欢茶而不是咖啡", "比起茶我更喜歡咖啡"),
    ("I am married", "I'm single"),
    ("我单身", "我已婚"),
    ("My favourite color is blue", "My favorite colour is green"),
    ("我最喜欢的颜色是蓝色", "我最喜歡的顏色是綠色"),
    ("My email is ada@example.org", "My email is ada@example.com"),
    ("Our database is PostgreSQL", "Our database is MySQL"),
    ("I am 30", "I am 31 years old"),
    ("I have 2 cats", "I have 3 cats"),
    ("我有两个孩子", "我有3個孩子"),
    ("My birthday is 3 May", "My birthday is 4 June"),
    ("The launch is on 3 May", "The launch is on 5 May"),
    ("項目上線時間是5月3日", "项目上线时间是5月5日"),
    ("The review is on Monday", "The review is on Friday"),
    ("评审在周一", "評審在週五"),
    ("The budget is 5000 euros", "The budget is 6000 euros"),
    ("I wake up at 7", "I wake up at 6"),
    ("我每天7点起床", "我每天六點起床"),
]
TOGETHER = [
    ("I live in Ghent", "My sister lives in Paris"),
    ("I live in Ghent", "I live in Ghent, Belgium"),
    ("I live in Shanghai", "我住在上海"),
    ("我住在上海", "我住在上海浦东"),
    ("I live in a flat", "I live in Ghent"),
    ("I used to live in Ghent", "I live in Paris"),
    ("I also live in Ghent", "I live in Paris"),
    ("I may move to Paris", "I live in Ghent"),
    ("I want to live in Paris", "I live in Ghent"),
    ("我想住在北京", "我住在上海"),
    ("如果我住在北京,我会买车", "我住在上海"),
    ("He lives in Ghent", "He lives in Paris"),
    ("I don't live in Ghent", "I don't live in Paris"),
    ("I work at night", "I work at Acme"),
    ("我在家工作", "我在华为工作"),
    ("I like tea", "I like coffee"),
    ("我喜欢跑步", "我喜欢游泳"),
    ("我吃素", "我不吃肉"),
    ("I am vegan", "I am a vegetarian"),
    ("I speak Dutch", "I speak French"),
    ("我学英语", "我学法语"),
    ("I run on Mondays", "I run on Thursdays"),
    ("The meeting is every Monday", "The meeting is every Friday"),
    ("Room 301 is on floor 3", "Room 302 is on floor 4"),
    ("I have 2 cats", "I have 3 dogs"),
    ("Alice's birthday is 3 May", "Bob's birthday is 4 May"),
    ("My wife's name is Ann", "My name is Bob"),
    ("My dog is called Rex", "My cat is called Tom"),
    ("I was in Rome in 2019", "I was in Rome in 2020"),
    ("I am a doctor", "I am a father"),
    ("J'habite à Gand", "J'habite à Paris"),
    ("", "。"),
]


def asks(one: str, other: str) -> bool:
    """Whether a person would be asked which of the two holds."""
    return any(are_contrary(a, b) for a in claims_of(one) for b in claims_of(other))


@pytest.mark.parametrize("pair", CONTRARY, ids=" | ".join)
def test_another_value_of_one_thing_is_asked_about_in_any_order(pair: tuple[str, str]) -> None:
    assert asks(*pair)
    assert asks(*reversed(pair))


@pytest.mark.parametrize("pair", TOGETHER, ids=" | ".join)
def test_what_may_hold_together_is_not_asked_about(pair: tuple[str, str]) -> None:
    assert not asks(*pair)
    assert not asks(*reversed(pair))


@pytest.mark.parametrize("kind", ["same", "two"])
def test_of_the_collected_pairs_that_hold_together_none_is_asked_about(kind: Decision) -> None:
    """307 pairs in English, simplified and traditional Chinese."""
    pairs = PAIRS[kind]
    assert len(pairs) > 100
    assert [pair for pair in pairs if asks(pair[0], pair[1])] == []


@given(st.text(alphabet="我不住在上是叫喜欢的my is name live prefer to'.,5月3日", max_size=400))
@settings(deadline=None, max_examples=200)
def test_no_text_contradicts_itself(text: str) -> None:
    """Claims are taken of any text, and a statement that is repeated is asked about nowhere."""
    claims = claims_of(text)
    assert not any(are_contrary(each, each) for each in claims)
    assert len({each.subject for each in claims}) == len(claims)
