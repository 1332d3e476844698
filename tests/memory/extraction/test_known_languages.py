"""What is said in a language that the rules do not know waits for a person."""

import pytest

from gateway.memory.extraction.faithfulness import faithfulness_of
from gateway.memory.known_languages import is_known
from tests.history.scripted import says, user
from tests.memory.extraction.conversing import Learner, offer, offers
from tests.memory.extraction.test_rejection_reasons import extracted

pytestmark = pytest.mark.anyio

OPPOSITES = [
    ("The user eats meat", "I don't eat meat", "differs"),
    ("用户吃肉", "我不吃肉", "differs"),
    ("用戶吃肉", "我不吃肉", "differs"),
    ("Ich esse Fleisch", "Ich esse kein Fleisch", "unknown"),
    ("Ich trinke Kaffee am Abend", "Ich trinke niemals Kaffee am Abend", "unknown"),
    ("Je mange de la viande", "Je ne mange pas de la viande", "unknown"),
    ("Nunca como carne y pescado", "Siempre como carne y pescado", "unknown"),
    ("用户吃肉", "Ich esse kein Fleisch", "unknown"),
    ("The user eats meat", "Я не ем мясо", "unknown"),
]
KNOWN = [
    "",
    "The user eats meat",
    "I don't eat meat",
    "用户吃肉",
    "我對花生過敏",
    "vegetarian",
    "use tabs, not spaces",
    "Budget 40,000 EUR, deadline Friday",
    "Python 3.12 and PostgreSQL 16",
    "React 和 Vue 我們上次選了哪個？",
    "My café is called Zum Goldenen Löwen",
    "I live in São Paulo",
    "Call me José",
    "我用 Python",
    "👍",
]
UNKNOWN = [
    "Ich esse kein Fleisch",
    "Je ne mange pas de viande",
    "Siempre como carne y pescado",
    "Não como carne",
    "Non mangio carne",
    "Ik eet geen vlees",
    "Jag äter inte kött",
    "Nie jem mięsa",
    "En syö lihaa",
    "Et yemem, vejetaryenim",
    "Saya tidak makan daging",
    "Tôi không ăn thịt",
    "Я не ем мясо",
    "Δεν τρώω κρέας",
    "私は肉を食べません",
    "저는 고기를 먹지 않아요",
    "لا آكل اللحم",
    "ผมไม่กินเนื้อ",
]


@pytest.mark.parametrize("text", KNOWN)
def test_english_and_chinese_are_known_with_names_from_elsewhere(text: str) -> None:
    """So are texts too short to say: a keyword or a name has no negation."""
    assert is_known(text)


@pytest.mark.parametrize("text", UNKNOWN)
def test_other_languages_are_not_known(text: str) -> None:
    """Told by their letters, or by small words that English has not."""
    assert not is_known(text)


@pytest.mark.parametrize(("content", "quote", "relation"), OPPOSITES)
def test_the_opposite_of_what_was_said_never_agrees_with_it(content: str, quote: str, relation: str) -> None:
    """It is seen where the language is known; elsewhere nothing is said to agree."""
    assert faithfulness_of(content, quote, quote) == relation


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Ich esse Fleisch", "Ich esse kein Fleisch."),
        ("Je mange de la viande", "Je ne mange pas de la viande."),
        ("Ich esse kein Fleisch", "Ich esse kein Fleisch."),
    ],
)
def test_a_candidate_in_an_unknown_language_is_in_doubt(content: str, said: str) -> None:
    """Also in the very words that were said: whether they were meant so is read from words as well."""
    found = extracted(content, said, said)

    assert found is not None
    assert found.doubt is not None
    assert "English and Chinese" in found.doubt


async def test_what_is_learned_in_an_unknown_language_waits_to_be_confirmed(learner: Learner) -> None:
    """It is kept with its quote and not recalled; what is said in English beside it is."""
    german, english = "Ich esse kein Fleisch", "I work at night"
    found = offers(offer(german, "Ich esse Fleisch"), offer(english, "The user works at night", message=3))
    changed = await learner.learn(user(german), says("Gut."), user(english), answer=found)

    assert [each.row.quarantined for each in changed] == [True, False]
    assert await learner.recallable() == ["The user works at night"]
