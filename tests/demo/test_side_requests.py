"""What the gateway asks the demo beside a turn: what is worth remembering, and whether a message needs
memories."""

from pathlib import Path

import pytest

from gateway.memory.extraction.candidates import find_candidates
from gateway.memory.extraction.report import LearningReport
from gateway.memory.extraction.user_messages import excerpts
from gateway.memory.retrieval_gate.gate import RetrievalGate
from gateway.model.anthropic import AnthropicModel
from gateway.model.side_calls import NO_CONTEXT
from tests.loopback import TIMEOUT
from tests.product import Message, ModelCalls, StoredMessage, load_settings, text_block

pytestmark = pytest.mark.anyio

INSTRUCTIONS = (Path(__file__).parents[2] / "prompts" / "memory.md").read_text(encoding="utf-8")


def model_at(url: str) -> AnthropicModel:
    return AnthropicModel(
        api_key="demo",
        base_url=url,
        connect_timeout=TIMEOUT,
        first_byte_timeout=TIMEOUT,
        progress_timeout=TIMEOUT,
    )


async def test_it_finds_what_is_worth_remembering_in_what_the_user_said(demo_url: str) -> None:
    """As the keeper asks for it: types, and quotes that stand there; nothing of the assistant's, no question,
    no secret."""
    talk = [
        ("user", "我喜欢简约的设计风格。帮我设计一个logo"),
        ("assistant", "My favourite colour is red."),
        ("user", "Remember that my cat is called Tofu.\nIs that right?"),
        ("user", "My budget is 3000 EUR. My password is hunter2."),
    ]
    messages = [
        StoredMessage(at, "t", Message("user" if who == "user" else "assistant", [text_block(text)]))
        for at, (who, text) in enumerate(talk, 1)
    ]
    (excerpt,) = excerpts(messages, after=0, max_tokens=10_000)
    model, report = model_at(demo_url), LearningReport("s_1", "demo", 0)
    calls = ModelCalls(model, load_settings())
    try:
        found, wrong = await find_candidates(calls, INSTRUCTIONS, excerpt, report, context=NO_CONTEXT)
    finally:
        await model.close()

    assert [(each.type, each.quote, each.message) for each in found] == [
        ("preference", "我喜欢简约的设计风格", 1),
        ("fact", "my cat is called Tofu", 3),
        ("fact", "My budget is 3000 EUR", 4),
    ]
    assert wrong == 0
    assert report.usage is not None


@pytest.mark.parametrize(("message", "needed"), [("一会儿见", "no"), ("给我一张蓝色的", "yes")])
async def test_it_says_whether_a_message_needs_memories(demo_url: str, message: str, needed: str) -> None:
    """Where the rules cannot tell, its answer is one that the gate understands."""
    model = model_at(demo_url)
    try:
        settings = load_settings(memory_control_model="demo")
        gate = RetrievalGate(settings, ModelCalls(model, settings))
        decision = await gate.decide(message, message_count=9)
    finally:
        await model.close()
    assert decision.needed == needed
    assert decision.notes[-1].startswith("A model was asked: ")
