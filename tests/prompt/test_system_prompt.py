"""Assembly: pure, within its limits, and growing only at its end."""

import copy
import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.prompt.cache_points import mark_messages
from gateway.prompt.components import Component, Components, PromptFolder
from gateway.prompt.manifest import Layer
from gateway.prompt.prompt_report import describe, preview
from gateway.prompt.system_prompt import Prefix, PromptLimits, prefix_of
from gateway.prompt.truncation import cut, smallest
from tests.product import Block, Message, ToolSpec, estimate_tokens, text_block, tool_result_block

TOOLS = (
    ToolSpec("search", "Finds.", {"type": "object", "properties": {"b": {}, "a": {}}}),
    ToolSpec("clock", "Tells.", {"type": "object", "properties": {}}),
)


def component(
    name: str,
    text: str,
    *,
    layer: Layer = "SYSTEM",
    priority: int = 50,
    min_tokens: int = 0,
    max_tokens: int = 10_000,
    fixed: bool = False,
) -> Component:
    digest = hashlib.sha256(text.encode()).hexdigest()
    size = estimate_tokens(text)
    return Component(
        name, f"{name}.md", layer, text, digest, size, priority, min_tokens, max_tokens, fixed, "file"
    )


texts = st.text(
    alphabet=st.one_of(st.sampled_from("ab cd\n\n。中文字é\u0301👩\u200d👧🇩🇪"), st.characters(codec="utf-8")),
    min_size=1,
    max_size=600,
)
LAYERS: tuple[Layer, ...] = ("SYSTEM", "MEMORY", "USER", "TOOL INSTRUCTIONS")


@st.composite
def component_sets(draw: st.DrawFn) -> Components:
    count = draw(st.integers(1, 5))
    return Components(
        tuple(
            component(
                f"c{number}",
                draw(texts) * draw(st.integers(1, 4)),
                layer=draw(st.sampled_from(LAYERS)),
                priority=draw(st.integers(0, 3)),
                min_tokens=draw(st.integers(0, 60)),
                max_tokens=draw(st.integers(95, 400)),
                fixed=draw(st.booleans()),
            )
            for number in range(count)
        )
    )


def thinking(text: str) -> Block:
    return {"type": "thinking", "thinking": text, "signature": "s"}


def result(text: str) -> Block:
    return tool_result_block("toolu_1", text, is_error=False)


blocks = st.one_of(
    st.builds(text_block, st.text(max_size=20)),
    st.builds(thinking, st.text(max_size=9)),
    st.builds(result, st.text(max_size=9)),
    st.just({"type": "redacted_thinking", "data": "x"}),
    st.just({"type": "from_the_future", "cache_control": {"type": "ephemeral"}}),
    st.just({"type": "text", "text": "kept", "cache_control": {"type": "ephemeral"}}),
)
messages = st.builds(
    Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, min_size=1, max_size=4)
)
transcripts = st.lists(messages, max_size=6)


def canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def bare(content: Any) -> list[Block]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in content]


def marked(prefix: Prefix, transcript: Sequence[Message]) -> list[Block]:
    messages = mark_messages(transcript)
    everything = [*prefix.system, *(block for message in messages for block in message.content)]
    return [block for block in everything if "cache_control" in block]


@given(component_sets(), transcripts, st.integers(1, 900))
def test_the_same_inputs_give_the_same_bytes_and_stay_as_they_were(
    components: Components, transcript: list[Message], total: int
) -> None:
    """Assembly is pure: it may be repeated at any time, with the tools in any order."""
    before = copy.deepcopy(transcript)
    limits = PromptLimits(total)

    first = prefix_of(components, tools=TOOLS, limits=limits)
    second = prefix_of(components, tools=TOOLS[::-1], limits=limits)

    assert first == second
    assert mark_messages(transcript) == mark_messages(copy.deepcopy(transcript))
    assert orjson.dumps([*first.system]) == orjson.dumps([*second.system])
    assert orjson.dumps([tool.input_schema for tool in first.tools]) == (
        orjson.dumps([tool.input_schema for tool in second.tools])
    )
    assert transcript == before


@given(component_sets(), st.integers(1, 900))
def test_the_total_is_kept_whenever_the_minimums_allow_it(components: Components, total: int) -> None:
    """Nothing is over its own limit, below its minimum, or cut when fixed; over the total is a warning."""
    prefix = prefix_of(components, limits=PromptLimits(total))

    possible = sum((item.tokens if item.fixed else smallest(item.tokens, item.min_tokens)) + 1
                   for item in components.items)  # fmt: skip
    assert prefix.tokens <= max(total, possible)
    assert bool(prefix.warnings) == (prefix.tokens > total)
    assert sum(estimate_tokens(block["text"]) for block in prefix.system) <= prefix.tokens
    for item, section in zip(components.items, prefix.sections, strict=True):
        if item.fixed:
            assert section.text == item.text
        else:
            assert section.tokens <= item.max_tokens
        if section.text != item.text:
            assert section.truncated
            assert f" of {item.tokens} tokens shown ...]" in section.text


@given(texts, st.integers(1, 4), st.integers(0, 80), st.integers(0, 300))
def test_a_cut_keeps_a_beginning_between_its_bounds(text: str, times: int, least: int, more: int) -> None:
    """At most the limit with the mark, at least the minimum without it, never half a character."""
    text *= times
    total = estimate_tokens(text)
    limit = smallest(total, least) + more

    shown = cut(text, limit, least)

    assert estimate_tokens(shown) <= limit
    if total <= limit:
        assert shown == text
    else:
        kept = shown.rpartition("[... truncated: ")[0].removesuffix("\n\n")
        assert text.startswith(kept)
        assert estimate_tokens(kept) >= least
        shown.encode()


def test_a_cut_falls_between_paragraphs_else_between_characters() -> None:
    """Chinese is cut between characters, a family or an accented letter is never torn."""
    paragraphs = "\n\n".join(f"Paragraph {number} has its own words." for number in range(30))
    assert cut(paragraphs, 150).partition("\n\n[...")[0].endswith("own words.")

    assert cut("网关" * 200, 100).startswith("网关")
    assert "truncated: 70 of 480 tokens shown" in cut("网关" * 200, 100)

    for cluster in ("👩\u200d👧", "e\u0301", "🇩🇪", "👍🏽"):
        for limit in range(40, 60):
            kept = cut(cluster * 400, limit).partition("\n\n[...")[0]
            assert len(kept) % len(cluster) == 0


def test_lower_priority_is_cut_first() -> None:
    """The important component stays whole while the other can still give."""
    words = "word " * 400
    components = Components(
        (component("low", words, priority=1), component("high", words, priority=9, layer="USER"))
    )

    low, high = prefix_of(components, limits=PromptLimits(700)).sections
    assert low.truncated
    assert not high.truncated

    low, high = prefix_of(components, limits=PromptLimits(300)).sections
    assert low.tokens < 40
    assert high.truncated


@given(transcripts, messages)
def test_a_new_message_leaves_all_that_came_before_unchanged(transcript: list[Message], new: Message) -> None:
    """The prompt only grows at its end: earlier messages keep their bytes. The prefix has no message."""
    before, after = mark_messages(transcript), mark_messages([*transcript, new])

    for earlier, later in zip(before, after, strict=False):
        assert canonical(bare(earlier.content)) == canonical(bare(later.content))
    assert bare(after[-1].content) == bare(new.content)


@given(component_sets(), transcripts)
def test_at_most_four_breakpoints_and_none_where_the_provider_refuses_one(
    components: Components, transcript: list[Message]
) -> None:
    """Never on thinking, on blank text or on a type we do not know; also when the input carried some."""
    points = marked(prefix_of(components, tools=TOOLS), transcript)

    assert len(points) <= 4
    for block in points:
        assert block["type"] in {"text", "tool_result"}
        assert block.get("text", "x").strip()


def test_breakpoints_lie_after_the_fixed_part_and_on_the_newest_two_user_messages() -> None:
    """What the last call wrote to the cache is where the next call looks."""
    components = Components((component("a", "Fixed."), component("b", "About you.", layer="USER")))
    transcript = [
        Message("user", [text_block("one")]),
        Message("assistant", [{"type": "thinking", "thinking": "…", "signature": "s"}, text_block("two")]),
        Message("user", [text_block("three"), text_block("  ")]),
    ]

    points = marked(prefix_of(components), transcript)

    assert [block["text"] for block in points] == ["Fixed.", "About you.", "one", "three"]


def test_changed_text_or_tools_change_the_prefix_hash() -> None:
    """The hash tells whether the provider's cache can hold."""
    one = prefix_of(Components((component("a", "Fixed."),)), tools=TOOLS)

    assert one.prefix_hash != prefix_of(Components((component("a", "Fixed!"),)), tools=TOOLS).prefix_hash
    assert one.prefix_hash != prefix_of(Components((component("a", "Fixed."),)), tools=TOOLS[:1]).prefix_hash
    assert [tool.name for tool in one.tools] == ["clock", "search"]
    assert list(one.tools[1].input_schema["properties"]) == ["a", "b"]


def test_the_report_and_the_preview_show_what_the_model_is_given() -> None:
    """Every component is reported with its size and cut; the preview is the system prompt by layer."""
    components = PromptFolder().read()
    prefix = prefix_of(components, tools=TOOLS, limits=PromptLimits(1000))

    report = describe(components, prefix)
    shown = preview(prefix)

    assert [item.name for item in report.components] == [item.name for item in components.items]
    assert any(item.truncated and item.tokens < item.tokens_before for item in report.components)
    assert [layer.layer for layer in shown.layers] == ["SYSTEM", "TOOL INSTRUCTIONS"]
    assert [layer.text for layer in shown.layers] == [block["text"] for block in prefix.system]
    assert [name for layer in shown.layers for name in layer.components] == [
        item.name for item in components.items
    ]
    assert report.tokens == shown.tokens <= 1000
    assert report.prefix_hash == shown.prefix_hash == prefix.prefix_hash


def test_the_size_of_a_prompt_is_that_of_all_its_parts() -> None:
    """The catalog of skills included, which no limit of the components cuts."""
    components = PromptFolder().read()
    without = prefix_of(components)
    shown = preview(prefix_of(components, skills="- tend-roses: Tends roses. " * 20))

    parts = [part for layer in shown.layers for part in layer.parts]
    assert [part.name for part in parts][-1] == "skills"
    assert shown.tokens == without.tokens + parts[-1].tokens >= sum(part.tokens for part in parts)


@given(component_sets(), st.text(min_size=1, max_size=400), st.sampled_from(["", "likes tea"]))
def test_a_clients_instructions_stand_below_all_components_and_cost_them_nothing(
    items: Components, told: str, memories: str
) -> None:
    """Whatever is in them: the blocks before them are the same bytes, what is the session's alone is labelled
    and within its limit, and the preview shows it as a layer of its own."""
    limits = PromptLimits(total_tokens=300, instructions_tokens=100)
    without = prefix_of(items, limits=limits)
    both = prefix_of(items, limits=limits, memories=memories, instructions=told)

    assert both.system[: len(without.system)] == without.system
    section = both.sections[len(without.sections)]
    assert (section.name, section.layer) == ("client instructions", "CLIENT")
    assert section.tokens <= 100
    layers = [layer.layer for layer in preview(both).layers]
    assert layers[len(without.system) :] == ["CLIENT", *(["MEMORY"] if memories else [])]
    assert both.system[len(without.system)]["text"].count("</client_instructions") == 1
    again = prefix_of(items, limits=limits, memories=memories, instructions=told)
    assert again.prefix_hash == both.prefix_hash != without.prefix_hash


def test_memories_after_a_component_of_their_layer_are_a_block_of_their_own() -> None:
    """The preview tells the layers apart as the model is given them."""
    items = Components((component("identity", "You are Ada."), component("about", "Notes.", layer="MEMORY")))
    prefix = prefix_of(items, memories="likes tea")

    assert [layer.components for layer in preview(prefix).layers] == [
        ["identity"],
        ["about"],
        ["memories"],
    ]
