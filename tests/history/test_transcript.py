"""The fold from what is stored to what the model sees."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.history.transcript import fold, problems
from gateway.messages import Message, text_block, tool_result_block

CALLS = st.sampled_from(["c1", "c2", "c3"])
TEXTS = st.builds(text_block, st.sampled_from(["", " \n", "hello", "你好"]))
THOUGHTS = st.just({"type": "thinking", "thinking": "hm", "signature": "s"})


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Anything a session might hold: also what no well-behaved one does."""
    if draw(st.booleans()):
        results = st.builds(tool_result_block, CALLS, st.just("ok"), is_error=st.just(False))
        return Message("user", draw(st.lists(TEXTS | results, max_size=4)))
    uses = [
        {"type": "tool_use", "id": call, "name": "t", "input": {}}
        for call in draw(st.lists(CALLS, unique=True, max_size=3))
    ]
    return Message("assistant", [*draw(st.lists(THOUGHTS | TEXTS, max_size=3)), *uses])


@given(st.lists(messages(), max_size=8))
def test_whatever_is_stored_the_model_gets_a_valid_history(stored: list[Message]) -> None:
    """Crashes, cancels and failures leave odd histories; the fold of each is one the API accepts."""
    folded = fold(stored)

    if folded:
        assert problems(folded) == []


@given(st.lists(messages(), max_size=8))
def test_folding_again_changes_nothing(stored: list[Message]) -> None:
    """A folded history is its own fold."""
    folded = fold(stored)

    assert fold(folded) == folded


@given(st.lists(messages(), max_size=6), messages())
def test_what_was_sent_stays_the_beginning_of_what_is_sent(stored: list[Message], added: Message) -> None:
    """A new message leaves the earlier ones as they were: the provider's cache stays valid."""
    before = fold(stored)
    after = fold([*stored, added])

    assert after[: max(0, len(before) - 2)] == before[: max(0, len(before) - 2)]


def test_a_call_without_a_result_is_answered_in_words() -> None:
    """The model reads that the outcome is unknown, and the pair is complete."""
    use = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}

    folded = fold([Message("user", [text_block("go")]), Message("assistant", [use])])

    assert folded[-1].role == "user"
    assert folded[-1].content[0]["is_error"] is True
    assert "Verify" in folded[-1].content[0]["content"]


def test_problems_names_what_the_api_would_refuse() -> None:
    """Each violation is a sentence; a valid history has none."""
    use = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}
    bad = [Message("assistant", [use]), Message("assistant", [text_block(" ")])]

    found = problems(bad)

    assert "the first message is not the user's" in found
    assert "message 1 repeats the role assistant" in found
    assert "message 1 has empty content" in found
    assert any("answers []" in one for one in found)
