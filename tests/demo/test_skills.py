"""The demo reads the written skill that a question is for, and follows its steps one by one."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.demo.directives import ScriptedCall
from gateway.demo.question import DemoPrompt, Result
from gateway.demo.skill_steps import MAX_STEPS, follow, skill_for
from gateway.demo.tour import answer
from gateway.skills.definition import MarkdownSkill
from gateway.skills.snapshot import snapshot
from tests.demo.bare import ask
from tests.demo.conftest import Send
from tests.product import wrap
from tests.skills.writing import PLENTY, skill

pytestmark = pytest.mark.anyio

REFUND = "Refunds an order that arrived broken. Use it for returns, 退款, 我要退货."
BODY = """# Refund an order

Never call `refund {"order_id": "A-1"}` before you have looked.

## Steps

1. **Look it up**: `look_up {"order_id": "{{order_id}}"}`. The answer has the price.
2. See what is left: `mcp__stock__check {"sku": "{{sku}}"}`.
3. `refund {"order_id": "{{order_id}}", "amount": "{{price}}", "note": "For: {{request}}"}`

## Cautions

- Do not `refund {"order_id": "A-1"}` twice.
"""
ORDER = '{"sku": "KETTLE-1", "price": 49.9}'
TOOLS: dict[str, str] = {
    "read_skill": wrap("skill", "The skill refund-an-order, as its author wrote it.", BODY),
    "look_up": ORDER,
    "mcp__stock__check": wrap("tool_output", "From a server.", '{"left": 3}'),
    "refund": "done",
}
ENGLISH, CHINESE = "Please refund order A-1001, it is broken.", "订单A-1001到货就坏了，我要退款"


def listed(**described: str) -> dict[str, MarkdownSkill]:
    """Skills by name; `_` in an argument's name is a hyphen."""
    names = {name.replace("_", "-"): text for name, text in described.items()}
    return {name: skill(name, description=text) for name, text in names.items()}


SKILLS = listed(refund_an_order=REFUND, hand_over="Writes a hand-over note, “写个交接”.")


class Run:
    """What came of a turn: the calls in their order, and the last answer."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]], text: str) -> None:
        self.calls = calls
        self.text = text

    @property
    def tools(self) -> list[str]:
        return [name for name, _ in self.calls]


async def turn(
    send: Send,
    question: str,
    tools: Mapping[str, str | Exception] = TOOLS,
    skills: Mapping[str, MarkdownSkill] = SKILLS,
) -> Run:
    """Plays a gateway whose tools give back these texts; an exception is a result that is an error."""
    offered = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in tools]
    system = f"# Who you are\n\n{snapshot(skills, {'shop': sorted(tools)}, {}, PLENTY).text}"
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    calls: list[tuple[str, dict[str, Any]]] = []
    while len(messages) < 60:
        received = await send(
            {**ask(question, tools=offered, stream=False), "system": system, "messages": messages}
        )
        content = json.loads(received.body)["content"]
        uses = [block for block in content if block["type"] == "tool_use"]
        if not uses:
            return Run(calls, content[-1]["text"])
        calls += [(use["name"], use["input"]) for use in uses]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": use["id"],
                "content": str(tools[use["name"]]),
                "is_error": isinstance(tools[use["name"]], Exception),
            }
            for use in uses
        ]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    raise AssertionError(f"it does not end: {calls}")


@pytest.mark.parametrize(("question", "words"), [(ENGLISH, "I followed the skill"), (CHINESE, "我按技能")])
async def test_a_skill_is_read_and_its_steps_are_called_one_by_one(
    send: Send, question: str, words: str
) -> None:
    """The calls under its heading Steps, with values from the question and from earlier results: a value of
    its own keeps its type, one inside a text is text."""
    run = await turn(send, question)

    assert run.calls == [
        ("read_skill", {"name": "refund-an-order"}),
        ("look_up", {"order_id": "A-1001"}),
        ("mcp__stock__check", {"sku": "KETTLE-1"}),
        ("refund", {"order_id": "A-1001", "amount": 49.9, "note": f"For: {question}"}),
    ]
    assert words in run.text
    for part in ("3 ", "`look_up`", "KETTLE-1", '{"left": 3}', "`refund`"):
        assert part in run.text


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Use refund-an-order for me", "refund-an-order"),
        ("用 Refund-An-Order 处理一下", "refund-an-order"),
        ("Could the order of Tuesday be refunded?", "refund-an-order"),
        ("我想退款", "refund-an-order"),
        ("幫我寫個交接", "hand-over"),
        ("hand this over to Li", "hand-over"),
        ("Where is my order?", None),
        ("这个用于什么？", None),
        ("What is 17*23?", None),
        ("", None),
    ],
)
async def test_a_skill_is_known_by_its_name_or_its_words(question: str, name: str | None) -> None:
    """Its name, all words of its name in any form, or a Chinese phrase of its description in either script;
    one word of several is not enough."""
    skills = {each: SKILLS[each].description for each in SKILLS}
    assert skill_for(DemoPrompt(question, skills=skills)) == name


async def test_a_name_counts_more_than_a_phrase() -> None:
    """Whichever skill is listed first."""
    skills = {"md:refund": "退款", "refund@user": "", "退货流程": ""}

    def meant(question: str) -> str | None:
        return skill_for(DemoPrompt(question, skills=skills))

    assert meant("refund@user, order A-1") == "refund@user"
    assert meant("refund the order with md:refund") == "md:refund"
    assert meant("我要退款，按退货流程来") == "退货流程"
    assert meant("我要退款") == "md:refund"


async def test_a_question_that_is_for_no_skill_is_answered_as_ever(send: Send) -> None:
    """So is one for a skill that cannot be read because read_skill is not offered."""
    assert (await turn(send, "What is 6*7?", {**TOOLS, "calculate": "42"})).tools == ["calculate"]
    unread = {name: TOOLS[name] for name in TOOLS if name != "read_skill"}
    assert (await turn(send, ENGLISH, unread)).calls == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The user did not allow this call, and it was not run. They say: 先别退", "was not run"),
        ("The tool failed: OSError.", "failed"),
    ],
)
async def test_a_call_that_is_denied_or_fails_ends_the_skill(send: Send, text: str, words: str) -> None:
    """What the user said of it is told, and so is what was not done."""
    run = await turn(send, ENGLISH, {**TOOLS, "mcp__stock__check": Exception(text)})

    assert run.tools == ["read_skill", "look_up", "mcp__stock__check"]
    assert f"`mcp__stock__check` {words}: {text}" in run.text
    assert "2 of its 3 steps" in run.text


async def test_a_step_whose_tool_is_not_offered_is_left_out(send: Send) -> None:
    tools = {name: TOOLS[name] for name in TOOLS if name != "mcp__stock__check"}
    run = await turn(send, CHINESE, tools)

    assert run.tools == ["read_skill", "look_up", "refund"]
    assert "2 步，共 3 步" in run.text


async def test_what_nobody_said_is_not_made_up(send: Send) -> None:
    """A step that needs something which is neither in a result nor in the question is not called."""
    run = await turn(send, "I want a refund for the order, it is broken.")

    assert run.tools == ["read_skill"]
    assert "0 of its 3 steps" in run.text


async def test_a_result_of_edited_arguments_still_gives_its_fields(send: Send) -> None:
    """The line that tells of the change is not part of the result; the whole result has its tool's name."""
    body = '`look_up {"order_id": "A-1"}` then `refund {"amount": "{{price}}", "note": "{{look_up}}"}`'
    order = f"[The user changed the arguments before approving. It ran with: {{}}]\n{ORDER}"
    run = await turn(send, ENGLISH, {**TOOLS, "read_skill": body, "look_up": order})

    assert run.calls[-1] == ("refund", {"amount": 49.9, "note": order})


async def test_a_skill_that_cannot_be_read_is_told_and_nothing_is_called(send: Send) -> None:
    refused = Exception("SKILL.md of the skill refund-an-order was not read")
    run = await turn(send, ENGLISH, {**TOOLS, "read_skill": refused})

    assert run.tools == ["read_skill"]
    assert "`read_skill` failed: SKILL.md of the skill" in run.text


async def test_a_skill_without_calls_is_read_and_quoted(send: Send) -> None:
    run = await turn(send, ENGLISH, {**TOOLS, "read_skill": "Be kind."})
    assert run.tools == ["read_skill"]
    assert "> Be kind." in run.text


def steps_of(body: str) -> list[str]:
    """The calls of a skill, made one after the other."""
    results = [Result("read_skill", {"name": "any"}, body)]
    while (
        following := follow(DemoPrompt("A-1", results=results, tools=frozenset("abcdefg")))
    ) and following.call:
        results.append(Result(following.call.name, {}, "{}"))
    return [result.name for result in results[1:]]


def test_only_calls_that_are_spelt_out_are_steps() -> None:
    """A tool's name, a blank and a JSON object in one pair of backticks; a number of them at most."""
    written = '`a {"x": 1}` `b` `c {x}` `d{"x": 1}` `e [1]` ``f {"x": 1}`` `g {"x": {"y": [1]}} `'
    assert steps_of(written) == ["a", "f"]
    assert len(steps_of('`a {"x": 1}`\n' * 100)) == MAX_STEPS
    chinese = '## 步骤\n1. 查：`a {"编号": "{{order_id}}"}`\n## 注意\n`b {}`'
    assert steps_of(chinese) == ["a"]


placeholders = st.sampled_from(["{{a}}", "{{request}}", "{{x_id}}", "{{none}}", "\\{{a}}", "{{ b }}", '"'])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.lists(placeholders | st.text(max_size=3)).map("".join),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(placeholders | st.text(max_size=3), inner),
    max_leaves=5,
)
names = st.sampled_from(["a", "b", "c", "read_skill"])
written_steps = st.lists(
    st.tuples(names, st.dictionaries(placeholders | st.text(max_size=2), values)), max_size=9
)


@settings(max_examples=60)
@given(
    st.text(max_size=20),
    written_steps,
    st.lists(st.tuples(st.sets(names), values, st.booleans()), max_size=40),
)
def test_any_skill_comes_to_its_end(
    text: str,
    written: list[tuple[str, dict[str, Any]]],
    changes: list[tuple[set[str], Any, bool]],
) -> None:
    """Whatever is written, whatever tools are offered from call to call and whatever they say, no step is
    called twice, in their order, and the last answer calls nothing."""
    body = "\n".join(f"`{tool} {json.dumps(arguments)}`" for tool, arguments in written)
    results = [Result("read_skill", {"name": "any"}, body)]
    order = [tool for tool, _ in written]
    called: list[str] = []
    for offered, messages, fails in [*changes, *[(set[str](), None, False)] * 2]:
        parts = answer(DemoPrompt(text, len(results) + 1, results, frozenset(offered)))
        calls = [part for part in parts if isinstance(part, ScriptedCall)]
        if not calls:
            break
        (call,) = calls
        assert call.name in offered
        called.append(call.name)
        results.append(Result(call.name, call.arguments, json.dumps(messages), fails))
    else:
        raise AssertionError(called)
    steps = iter(order)
    if order:
        assert all(name in steps for name in called)
