"""What is counted of tool calls, decisions about them, skills, and MCP servers."""

import pytest

from gateway.telemetry.metrics import instrument_table as table
from tests.telemetry.counting import AGENT, Counting
from tests.telemetry.story import CANARY, HOUR, Story, with_approval

SEND = {"gen_ai_tool_name": "send"}


def decided(decision: str, by: str, status: str, *, asked: bool = False) -> Story:
    story = Story().begin().ask().answered("tool_use", None).call("send", "toolu_1")
    if asked:
        story.asked("send", "toolu_1")
    story.decided("toolu_1", decision, by, ms=5000)
    return story.result("send", "toolu_1", status, duration_ms=0).done()


def test_decisions_are_counted_by_what_made_them() -> None:
    """A person, whoever it is, or a rule; the time until then only where somebody was asked."""
    counting = Counting().count(
        with_approval(),
        decided("denied", "bob", "denied", asked=True),
        decided("denied", "expiry", "denied", asked=True),
        decided("denied", "policy", "denied"),
        decided("approved", "grant", "ok"),
    )

    for decision, by in [
        ("approved", "user"),
        ("denied", "user"),
        ("denied", "expiry"),
        ("denied", "policy"),
        ("approved", "grant"),
    ]:
        about = {**SEND, "gateway_approval_decision": decision, "gateway_approval_by": by}
        assert counting.value("gateway_approvals_total", about) == 1, about
    waits = "gateway_approval_wait_seconds"
    user, expiry = {"gateway_approval_by": "user"}, {"gateway_approval_by": "expiry"}
    assert counting.value(f"{waits}_count", user) == 2
    assert counting.value(f"{waits}_sum", user) == pytest.approx(HOUR / 1000 + 0.01 + 5)
    assert counting.value(f"{waits}_bucket", {**user, "le": "5.0"}) == 1
    assert counting.value(f"{waits}_count", expiry) == 1
    assert counting.text.count(f"{waits}_count{{") == 2


def test_a_question_that_nobody_answers_is_no_decision() -> None:
    """A turn that is stopped while it waits."""
    story = Story().begin().call("send", "toolu_1").asked("send", "toolu_1")

    counting = Counting().count(story.result("send", "toolu_1", "cancelled").done("cancelled"))

    assert "gateway_approvals_total{" not in counting.text
    assert "gateway_approval_wait_seconds_count{" not in counting.text


def test_a_denied_call_counts_and_is_not_timed() -> None:
    """It did not run; and no tool is slow because a person took an hour."""
    counting = Counting().count(with_approval(), decided("denied", "policy", "denied"))

    for status in ("ok", "denied"):
        assert counting.value("gateway_tool_calls_total", {**SEND, "gateway_tool_status": status}) == 1
    ran = {**AGENT, **SEND, "gen_ai_tool_type": "function"}
    assert counting.value("gen_ai_execute_tool_duration_seconds_count", ran) == 1
    assert counting.value("gen_ai_execute_tool_duration_seconds_sum", ran) == 0.045
    assert counting.value("gen_ai_invoke_agent_tool_calls_sum", AGENT) == 3


def test_calls_that_clients_run_count_as_one_tool_and_are_not_timed() -> None:
    """Their names are theirs to choose, their time is their users'."""
    story = Story().begin().ask().answered("tool_use", None)
    for number in range(3):
        story.call(f"own_{number}", f"client_{number}", runs_on="client")
        story.result(f"own_{number}", f"client_{number}", ms=HOUR)

    counting = Counting().count(story.done())

    about = {"gen_ai_tool_name": "client_tool", "gateway_tool_status": "ok"}
    assert counting.value("gateway_tool_calls_total", about) == 3
    assert "gen_ai_execute_tool_duration_seconds_count{" not in counting.text
    assert "own_" not in counting.text


def test_a_turn_that_waits_is_neither_slow_nor_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is without the wait, it is not active meanwhile, and does not look as if it hung."""
    story, counting = with_approval(), Counting()
    monkeypatch.setattr("gateway.telemetry.metrics.turn_metrics.now_ms", lambda: story.started_at + 2 * HOUR)

    counting.observer.observe("s_1", story.events[:6])
    assert counting.value("gateway_turn_active") == 1
    counting.observer.observe("s_1", story.events[6:7])  # nothing else is left to do
    assert counting.value("gateway_turn_active") == 0
    assert counting.value("gateway_turn_oldest_age_seconds") == 0
    counting.observer.observe("s_1", story.events[7:8])
    assert counting.value("gateway_turn_active") == 1
    assert counting.value("gateway_turn_oldest_age_seconds") == HOUR / 1000
    counting.observer.observe("s_1", story.events[8:])

    took = story.events[-1].load()["data"]["duration_ms"]
    assert counting.value("gen_ai_invoke_agent_duration_seconds_sum", AGENT) == (took - HOUR) / 1000
    assert counting.value("gateway_turn_active") == 0


def test_steps_and_suggestions_are_counted() -> None:
    """Steps by tool and error, what is worth remembering by type."""
    counting = Counting().count(with_approval())

    assert counting.value("gateway_tool_steps_total", SEND) == 1
    assert counting.value("gateway_tool_steps_total", {**SEND, "error_type": "TimeoutError"}) == 1
    assert counting.value("gateway_memory_suggestions_total", {"gateway_memory_type": "preference"}) == 1


def test_uses_of_skills_are_counted() -> None:
    """Those that were read and those that were refused, by skill."""
    story = Story().begin().call("read_skill", "toolu_1").used("release-notes", "read", "toolu_1")
    story.used("release-notes", "read", "toolu_1", path="a.md").used("deploy", "refused", "toolu_1")

    counting = Counting().count(story)

    for name, action, count in (("release-notes", "read", 2), ("deploy", "refused", 1)):
        about = {"gateway_skill_name": name, "gateway_skill_type": "markdown", "gateway_skill_action": action}
        assert counting.value("gateway_skill_uses_total", about) == count


def test_names_that_a_model_invents_do_not_grow_the_process() -> None:
    """Of tools, skills and errors of steps; and none is what somebody said."""
    story = Story().begin()
    for number in range(300):
        name = f"invented-{number}"
        step = {"step_id": "1", "step_name": name, "duration_ms": 1, "error": f"Error{number}"}
        story.call(name, name).used(name, "refused", name).used(f"{CANARY} {name}", "refused", name)
        story.decided(name, "denied", "policy").result(name, name, "denied", steps=[step])

    counting = Counting().count(story)

    series: dict[str, int] = {}
    for sample in counting.samples:
        series[sample.name] = series.get(sample.name, 0) + 1
    assert series["gateway_tool_calls_total"] == 201
    assert series["gateway_approvals_total"] == 201
    assert series["gateway_skill_uses_total"] <= 201
    assert series["gateway_tool_steps_total"] <= 301
    assert CANARY not in counting.text


def test_what_waits_and_what_there_is_are_looked_up_when_they_are_asked_for() -> None:
    """Parked turns, the catalog by type and whether it is enabled, MCP servers by whether they answer."""
    counting = Counting()
    parked, skills, up = [3], {("markdown", True): 4, ("markdown", False): 1}, {("files",): 1, ("网页",): 0}
    counting.metrics.observe(table.TURNS_PARKED, lambda: parked[0])
    counting.metrics.observe(table.SKILLS, lambda: skills)
    counting.metrics.observe(table.MCP_UP, lambda: up)

    assert counting.value("gateway_turn_parked") == 3
    of = {"gateway_skill_type": "markdown"}
    assert counting.value("gateway_skills", {**of, "gateway_skill_enabled": "true"}) == 4
    assert counting.value("gateway_skills", {**of, "gateway_skill_enabled": "false"}) == 1
    assert counting.value("gateway_mcp_up", {"gateway_mcp_server": "files"}) == 1
    assert counting.value("gateway_mcp_up", {"gateway_mcp_server": "网页"}) == 0
    parked[0], up["files",] = 0, 0
    assert counting.value("gateway_turn_parked") == 0
    assert counting.value("gateway_mcp_up", {"gateway_mcp_server": "files"}) == 0
