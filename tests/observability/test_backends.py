"""What others make of our traces: Phoenix and MLflow, started for real, beside the record itself."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from gateway.ids import root_span_id
from gateway.telemetry.spans.truncated_json import TRUNCATED
from tests.observability.backends import found_by_mlflow, running_mlflow, running_phoenix, with_backends
from tests.observability.load import RecordedTurn, busy_gateway, on_record, scripted_round, until_seen
from tests.product import Settings

pytestmark = [pytest.mark.anyio, *with_backends]

SESSIONS = """{ projects { edges { node { name sessions(first: 100) { edges { node {
  sessionId firstInput { value } lastOutput { value } tokenUsage { prompt completion }
  costSummary { total { cost } } } } } } } } }"""


class Seen(NamedTuple):
    """A span as a backend shows it."""

    trace: str
    id: str
    parent: str | None
    name: str
    kind: str


async def lived(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, endpoint: str, headers: str = ""
) -> dict[str, list[RecordedTurn]]:
    """A round of everything with its traces sent to `endpoint`, content included; returns the record."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", headers)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name=gateway")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    async with busy_gateway(settings) as client:
        await scripted_round(client)
        return await on_record(client)


def check_tree(turn: RecordedTurn, spans: Sequence[Seen], kinds: tuple[str, str, str]) -> None:
    """One agent, below it each model call and each tool call, and what a tool looked up below the tool."""
    agent, model, tool = kinds
    ours = {span.id: span for span in spans if span.trace == turn.trace}
    root = ours[root_span_id(turn.trace)]
    assert (root.kind, root.parent) == (agent, None)
    compressions = {span.id for span in ours.values() if span.name == "gateway.compression"}
    calls = [span for span in ours.values() if span.kind == model and span.parent not in compressions]
    tools = [span for span in ours.values() if span.kind == tool]
    assert len(calls) == len(
        {event["iteration"] for event in turn.events if event["type"] == "iteration_start"}
    )
    assert Counter(span.name for span in tools) == Counter(f"execute_tool {name}" for name in turn.tools)
    assert {span.parent for span in calls + tools} <= {root.id}
    for span in ours.values():
        if span.name.startswith("retrieval"):
            assert span.parent in {each.id for each in tools}


async def test_phoenix_shows_sessions_with_their_turns(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session with its first question, its last answer, tokens and cost, and no other sessions; each
    turn as a tree of agent, model calls and tools."""
    async with running_phoenix(tmp_path) as phoenix:
        record = await lived(settings, monkeypatch, f"{str(phoenix.base_url).rstrip('/')}/v1/traces")
        turns = [turn for session in record.values() for turn in session]
        roots = {root_span_id(turn.trace) for turn in turns}

        async def all_spans() -> list[Seen] | None:
            spans = await _phoenix_spans(phoenix)
            return spans if roots <= {span.id for span in spans} else None

        spans = await until_seen(all_spans)
        answer = (await phoenix.post("/graphql", json={"query": SESSIONS})).json()

    projects = {each["node"]["name"]: each["node"] for each in answer["data"]["projects"]["edges"]}
    sessions = [each["node"] for each in projects["gateway"]["sessions"]["edges"]]
    assert {session["sessionId"] for session in sessions} == record.keys()
    for session in sessions:
        of_session = record[session["sessionId"]]
        assert session["firstInput"]["value"] == of_session[0].asked
        if of_session[-1].answer:
            shown = session["lastOutput"]["value"].removesuffix(TRUNCATED).strip()
            assert shown
            assert of_session[-1].answer.strip().startswith(shown)
        assert session["tokenUsage"] == {
            "prompt": sum(turn.input_tokens for turn in of_session),
            "completion": sum(turn.output_tokens for turn in of_session),
        }
        cost = _cost(of_session)
        assert cost is None or session["costSummary"]["total"]["cost"] == pytest.approx(cost)
    for turn in turns:
        check_tree(turn, spans, ("AGENT", "LLM", "TOOL"))
    assert any(turn.tools for turn in turns)


async def test_mlflow_counts_the_same_tokens_and_the_same_cost(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turn for turn: session, state, question, tokens with those of the cache, US dollars, and the tree."""
    async with running_mlflow(tmp_path) as mlflow:
        url = str(mlflow.base_url).rstrip("/")
        made = await mlflow.post("/api/2.0/mlflow/experiments/create", json={"name": "gateway"})
        experiment = made.json()["experiment_id"]
        headers = f"x-mlflow-experiment-id={experiment}"
        record = await lived(settings, monkeypatch, f"{url}/v1/traces", headers)
        turns = [turn for session in record.values() for turn in session]

        async def all_traces() -> dict[str, dict[str, Any]] | None:
            found = {
                each["trace"].removeprefix("tr-"): each for each in await found_by_mlflow(url, experiment)
            }
            return found if {turn.trace for turn in turns} <= found.keys() else None

        traces = await until_seen(all_traces, patience=90)

    for turn in turns:
        seen = traces[turn.trace]
        assert seen["session"] == turn.session
        assert ("ERROR" in seen["state"]) == (turn.done["status"] == "failed")
        assert turn.asked[:30] in seen["request"].encode().decode("unicode_escape", "replace")
        tokens = seen["tokens"] or {"input_tokens": 0, "output_tokens": 0}
        assert (tokens["input_tokens"], tokens["output_tokens"]) == (turn.input_tokens, turn.output_tokens)
        if (cost := _cost([turn])) is not None:
            assert seen["cost"]["total_cost"] == pytest.approx(cost)
        spans = [
            Seen(turn.trace, span["id"], span["parent"], span["name"], span["type"]) for span in seen["spans"]
        ]
        check_tree(turn, spans, ("AGENT", "CHAT_MODEL", "TOOL"))
    assert any(_cost([turn]) for turn in turns)


async def _phoenix_spans(phoenix: httpx2.AsyncClient) -> list[Seen]:
    answer = await phoenix.get("/v1/projects/gateway/spans?limit=1000")
    if answer.status_code != 200:  # before the first span there is no project
        return []
    return [
        Seen(
            span["context"]["trace_id"],
            span["context"]["span_id"],
            span["parent_id"],
            span["name"],
            span["span_kind"],
        )
        for span in answer.json()["data"]
    ]


def _cost(turns: Sequence[RecordedTurn]) -> float | None:
    """US dollars of these turns; None when one of them is not known."""
    costs = [data.get("cost") for turn in turns for data in turn.paid]
    return None if None in costs else sum(filter(None, costs))
