"""What outlives a summary, whatever its writer leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.summaries.kept_facts import MAX_IDENTIFIERS, complete
from gateway.history.summaries.summary import SessionSummary, to_markdown
from tests.history.conversations import conversations
from tests.history.scripted import call, result, results, says, stored, user
from tests.product import Message, estimate_tokens

BARE = SessionSummary(goal="Plan a trip.")


def completed(
    *messages: Message,
    written: SessionSummary = BARE,
    previous: SessionSummary | None = None,
    questions: tuple[str, ...] = (),
    answered: tuple[str, ...] = (),
    most_tokens: int = 2000,
) -> SessionSummary:
    return complete(
        written,
        stored(*messages),
        previous=previous,
        questions=questions,
        answered=answered,
        most_tokens=most_tokens,
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("See https://example.com/a?b=1#c, please.", "https://example.com/a?b=1#c"),
        ("请看https://example.com/路径，谢谢", "https://example.com/路径"),
        ("write to ann.lee@example.co.uk.", "ann.lee@example.co.uk"),
        ("It is in ART-3f2a now", "ART-3f2a"),
        ("订单号是ORD-20261120，别弄错", "ORD-20261120"),
        ("id 8f14e45f-ceea-467f-a8d4-0123456789ab!", "8f14e45f-ceea-467f-a8d4-0123456789ab"),
        ("commit 5d1c3c5aa0b19e4f", "5d1c3c5aa0b19e4f"),
        ("edit /etc/nginx/nginx.conf first", "/etc/nginx/nginx.conf"),
        ("配置在/srv/app/config.yaml里", "/srv/app/config.yaml"),
        (r"in C:\Users\ann\notes.txt", r"C:\Users\ann\notes.txt"),
        ("It must stay under $4,500.", "$4,500"),
        ("预算不超过5000元", "5000元"),
        ("at most 25 ms please", "25 ms"),
    ],
)
def test_a_name_that_only_helps_to_the_letter_survives(text: str, name: str) -> None:
    """Addresses, paths, ids, and the amounts of limits that the user set."""
    assert name in completed(user(text)).identifiers


@pytest.mark.parametrize(
    "text", ["I have 3 cats.", "either/or", "a well-known-sentence-with-hyphens", "1/2", "昨天很好"]
)
def test_ordinary_words_are_no_identifiers(text: str) -> None:
    """Nothing is kept that a summary may well put in other words."""
    assert completed(user(text)).identifiers == []


def test_what_the_summary_has_already_is_not_repeated() -> None:
    """Identifiers hold only what no other part contains."""
    written = SessionSummary(goal="Read https://example.com/a.")

    assert completed(user("https://example.com/a and ART-77"), written=written).identifiers == ["ART-77"]


def test_identifiers_are_bounded_and_the_users_come_first() -> None:
    """Sixty at most, former ones before new ones, the user's before the assistant's."""
    messages = [says(" ".join(f"AB-{n}x" for n in range(80))), user(" ".join(f"UV-{n}x" for n in range(40)))]
    kept = completed(*messages, previous=SessionSummary(goal="x", identifiers=["OLD-1"]), most_tokens=10**5)

    assert len(kept.identifiers) == MAX_IDENTIFIERS
    assert kept.identifiers[0] == "OLD-1"
    assert kept.identifiers[1:41] == [f"UV-{n}x" for n in range(40)]


def test_a_tool_that_failed_and_was_not_mended_survives_by_name() -> None:
    """The one that succeeded later does not; nor one that the summary names itself."""
    messages = [
        user("go"),
        says(call("pay", "1"), call("mail", "2"), call("book", "3")),
        results(result("1", failed=True), result("2", failed=True), result("3", failed=True)),
        says(call("mail", "4")),
        results(result("4")),
    ]
    written = SessionSummary(goal="x", risks=["The tool book does not answer."])

    kept = completed(*messages, written=written)

    assert kept.risks == ["The tool book does not answer.", "Unresolved: the tool pay failed."]


def test_an_old_failure_is_carried_on_until_the_tool_works() -> None:
    """It comes from the former summary, and goes when a later call succeeds."""
    previous = SessionSummary(goal="x", risks=["Unresolved: the tool pay failed."])

    assert completed(user("hm"), previous=previous).risks == previous.risks
    assert completed(says(call("pay", "1")), results(result("1")), previous=previous).risks == []


def test_an_open_question_survives_until_it_is_answered() -> None:
    """Not when the new summary has it in like words, nor when it is said to be answered."""
    questions = ("Which hotel do you want?", "你想住哪家酒店？", "What is the budget?")
    written = SessionSummary(goal="x", open_questions=["Which hotel do you want in Taipei?"])

    kept = completed(user("x"), written=written, questions=questions, answered=("What is the budget?",))

    assert kept.open_questions == ["Which hotel do you want in Taipei?", "你想住哪家酒店？"]


def test_old_steps_make_room_for_what_must_survive() -> None:
    """The progress gives way, the failure does not."""
    written = SessionSummary(goal="x", progress=[f"Step {n} was done as planned." for n in range(40)])
    most = estimate_tokens(to_markdown(written))
    messages = [says(call("pay", "1")), results(result("1", failed=True))]

    kept = completed(*messages, written=written, most_tokens=most)

    assert "Unresolved: the tool pay failed." in kept.risks
    assert kept.progress[-1] == "Step 39 was done as planned."
    assert estimate_tokens(to_markdown(kept)) <= most


@given(conversations(), st.integers(100, 2000))
def test_a_complete_summary_stays_within_its_bound(messages: list[Message], most: int) -> None:
    """Identifiers only fill the room that is left."""
    assert estimate_tokens(to_markdown(completed(*messages, most_tokens=most))) <= max(most, 350)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10**6,
        "a." * 10**5,
        "/a" * 10**5,
        "1," * 10**5,
        "A-" * 10**5,
        "https://" * 10**5,
        "must " + "1," * 10**5,
    ],
)
def test_endless_text_leaves_no_more_than_the_bound(text: str) -> None:
    """What a user pastes is searched once from its beginning to a limit, and what is found has one too."""
    assert len(completed(user(text), most_tokens=10**6).identifiers) <= MAX_IDENTIFIERS
