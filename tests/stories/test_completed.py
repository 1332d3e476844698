"""Turns that end well, told from the first event to the last."""

import pytest

from gateway.events.contract import EVENT
from tests.harness import Client, running_gateway, text_of, the, types
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio


@on_both_engines
async def test_a_question_is_looked_up_calculated_and_answered(client: Client) -> None:
    """The first question a newcomer asks shows retrieval, two tool calls with results, text, and one done."""
    events = await client.chat("How do I resume a stream? And what is 17*23?")

    calls = {event["tool_call_id"]: event["data"]["name"] for event in events if event["type"] == "tool_call"}
    results = {event["tool_call_id"] for event in events if event["type"] == "tool_result"}

    assert events[0]["type"] == "turn_start"
    assert events[-1]["type"] == "done"
    assert {"search_docs", "calculate"} == set(calls.values())
    assert calls.keys() == results
    assert any(event["type"] == "retrieval" for event in events)
    assert "391" in text_of(events)
    assert the(events, "done")["status"] == "completed"
    assert len({event["turn_id"] for event in events}) == 1


async def test_a_chinese_question_is_answered_in_chinese(client: Client) -> None:
    """Chinese is understood, searched and answered like English."""
    events = await client.chat("断线后怎么恢复一个流？另外 12 乘以 12 是多少？")

    assert "144" in text_of(events)
    assert any(event["type"] == "retrieval" for event in events)
    assert any("\u4e00" <= character <= "\u9fff" for character in text_of(events))


async def test_every_event_is_of_the_contract_and_nothing_in_it_is_null(client: Client) -> None:
    """What is sent is valid against the published models, numbered without a gap, and free of nulls."""
    events = await client.chat("How do I resume a stream? What time is it?")

    for event in events:
        EVENT.validate_python(event)
        assert "null" not in str(event).replace("None", "null")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_thinking_is_shown_and_goes_back_signed(client: Client) -> None:
    """Thinking returns to the model unchanged with the next call: the demo refuses a forged signature."""
    events = await client.chat('/think Let me see.\n/call calculate {"expression": "2+3"}\n/then\n/say Five.')

    assert "".join(event["data"]["text"] for event in events if event["type"] == "thinking") == "Let me see."
    assert text_of(events) == "Five."
    assert the(events, "done")["status"] == "completed"


@on_both_engines
async def test_parallel_results_go_back_in_the_order_of_the_calls(client: Client) -> None:
    """Calls run side by side; the message that answers them keeps the model's order."""
    session = await client.session()
    calls = "\n".join(f'/call calculate {{"expression": "{number}+1"}}' for number in range(8))
    await client.chat(f"{calls}\n/then\n/say done", session_id=session)

    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]

    assert [str(number + 1) for number in range(8)] == [
        block["content"].split()[-1] for block in messages[2]["content"]
    ]


async def test_a_second_turn_knows_the_first(client: Client) -> None:
    """A session's history goes with every later message."""
    session = await client.session()
    await client.chat("/say One.", session_id=session)
    await client.chat("/say Two.", session_id=session)

    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[3]["content"][0]["text"] == "Two."


async def test_usage_is_summed_over_the_model_calls(client: Client) -> None:
    """done carries the tokens of all model calls and what they cost."""
    events = await client.chat('/call calculate {"expression": "1+1"}\n/then\n/say ok')

    ends = [event["data"]["usage"] for event in events if event["type"] == "iteration_end"]
    done = the(events, "done")
    assert sum(end["output_tokens"] for end in ends) == done["usage"]["output_tokens"] > 0
    assert done["iterations"] == 2
    assert done["cost"] > 0


async def test_an_unknown_price_stays_unknown(settings: Settings) -> None:
    """A model without a price has no cost, instead of a free one."""
    async with running_gateway(settings.model_copy(update={"model": "home-made"})) as client:
        events = await client.chat("/say hi")

    assert "cost" not in the(events, "done")
    assert the(events, "done")["usage"]["output_tokens"] > 0


async def test_a_bad_tool_call_is_a_result_that_the_model_reads(client: Client) -> None:
    """Wrong arguments, unknown tools and failing tools end the call, never the turn."""
    events = await client.chat(
        '/call calculate {"expresion": "1"}\n/call nothing_like_it {}\n'
        '/call calculate {"expression": "1/0"}\n/then\n/say sorry'
    )

    results = [event["data"] for event in events if event["type"] == "tool_result"]
    assert [result["status"] for result in results] == ["error"] * 3
    assert all(result["content"] for result in results)
    assert text_of(events) == "sorry"
    assert the(events, "done")["status"] == "completed"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_cut_by_the_model_is_completed_with_a_warning(client: Client, reason: str) -> None:
    """What the model could not finish is kept, and the warning says why it ends there."""
    events = await client.chat(f"/say Once upon a\n/stop {reason}")

    assert text_of(events) == "Once upon a"
    assert reason == the(events, "warning")["code"]
    assert {"status": "completed", "stop_reason": reason}.items() <= the(events, "done").items()


@pytest.mark.parametrize(
    ("reason", "code"),
    [("network_error", "upstream_error"), ("insufficient_system_resource", "upstream_overloaded")],
)
async def test_an_answer_that_its_endpoint_calls_failed_is_a_failed_turn(
    client: Client, reason: str, code: str
) -> None:
    """Tried again, as any other failure of it; what the last attempt wrote is kept."""
    session = await client.session()
    events = await client.chat(f"/say Once upon a\n/stop {reason}", session_id=session)

    error = the(events, "error")
    assert (error["code"], error["retryable"], reason in error["message"]) == (code, True, True)
    assert the(events, "done")["status"] == "failed"
    assert "iteration_superseded" in types(events)
    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1]["content"][0]["text"] == "Once upon a"


async def test_a_refusal_is_a_failure_with_its_own_code(client: Client) -> None:
    """The turn fails as content_refused, and the refused message does not stay in the history."""
    session = await client.session()
    events = await client.chat("/say I\n/stop refusal", session_id=session)

    assert the(events, "error")["code"] == "content_refused"
    assert types(events)[-3:] == ["iteration_end", "error", "done"]
    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [message["role"] for message in messages] == ["user"]


async def test_a_paused_turn_goes_on_where_it_was(client: Client) -> None:
    """pause_turn sends the partial message back and asks again."""
    events = await client.chat("/say part one,\n/stop pause_turn\n/then\n/say part two")

    assert the(events, "done")["iterations"] == 2
    assert text_of(events) == "part one,part two"


@pytest.mark.parametrize("broken", ["/stop max_tokens", "/fault clean_truncation", "/fault mid_event"])
async def test_no_tool_runs_from_a_message_that_did_not_end_in_order(client: Client, broken: str) -> None:
    """A call in an answer that was cut, or that broke off, is not recorded as an intent and never runs."""
    events = await client.chat(f'/call calculate {{"expression": "1+1"}}\n{broken}')

    assert not [event for event in events if event["type"] in {"tool_call", "tool_result"}]
    assert events[-1]["type"] == "done"


async def test_a_complete_call_runs_whatever_its_stop_reason_says(client: Client) -> None:
    """A server may have a reason of its own for it: the call is what was meant."""
    events = await client.chat('/call calculate {"expression": "1+1"}\n/stop something_new\n/then\n/say two')

    assert the(events, "tool_result")["content"] == "2"
    assert text_of(events) == "two"


async def test_calls_of_a_message_that_was_cut_are_told(client: Client) -> None:
    """None is run, and the person sees what there was."""
    events = await client.chat('/call calculate {"expression": "1+1"}\n/stop max_tokens')

    warnings = [event["data"] for event in events if event["type"] == "warning"]
    assert [warning["code"] for warning in warnings] == ["calls_not_run", "max_tokens"]
    assert 'calculate {"expression":"1+1"}' in warnings[0]["message"]


async def test_a_loop_that_goes_nowhere_ends_with_an_answer(client: Client) -> None:
    """The same call again and again: the model is told, and in the end asked for an answer without tools."""
    again = "\n/then\n".join(['/call calculate {"expression": "1+1"}'] * 5)
    events = await client.chat(f"{again}\n/then\n/say It is 2.")

    assert the(events, "done")["status"] == "completed"
    assert text_of(events) == "It is 2."
    assert types(events).count("tool_result") == 5
    assert [event["data"]["code"] for event in events if event["type"] == "warning"] == ["repeated_calls"] * 2
