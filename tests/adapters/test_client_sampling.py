"""How a client wants the model to write reaches the endpoint, in each dialect that has words for it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.adapters.client_sampling import MAX_STOP, MAX_STOPS, sampling_of
from gateway.messages import UNCHANGED, Sampling
from gateway.model.endpoint_profile import OLDER_VERSION
from gateway.storage.row_codec import sampling_of as stored_sampling
from gateway.storage.row_codec import sampling_text
from tests.harness import Client, running_gateway, settings_for, the
from tests.stories.thinking_endpoint import ThinkingEndpoint, lenient

pytestmark = pytest.mark.anyio

SAID = [{"role": "user", "content": "hi"}]
ASKED: list[tuple[str, dict[str, Any], set[str]]] = [
    (
        "/v1/chat/completions",
        {"messages": SAID, "max_tokens": 5, "stop": "END", "temperature": 0.25, "top_p": 0.5},
        {"max_tokens", "stop_sequences", "temperature", "top_p"},
    ),
    (
        "/v1/chat/completions",
        {
            "messages": SAID,
            "max_completion_tokens": 5,
            "max_tokens": 900,
            "stop": ["END"],
            "temperature": 0.25,
        },
        {"max_tokens", "stop_sequences", "temperature"},
    ),
    (
        "/v1/responses",
        {"input": "hi", "max_output_tokens": 5, "temperature": 0.25, "top_p": 0.5},
        {"max_tokens", "temperature", "top_p"},
    ),
    (
        "/v1/messages",
        {"messages": SAID, "max_tokens": 5, "stop_sequences": ["END"], "temperature": 0.25, "top_k": 40},
        {"max_tokens", "stop_sequences", "temperature", "top_k"},
    ),
]
WANTED = {"max_tokens": 5, "stop_sequences": ["END"], "temperature": 0.25, "top_p": 0.5, "top_k": 40}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _sent(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in WANTED if name in body}


async def _events(client: Client) -> list[dict[str, Any]]:
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    return await client.events(session["id"])


@pytest.mark.parametrize(("path", "body", "names"), ASKED)
@pytest.mark.parametrize("ends", ["max_tokens", "stop_sequence"])
async def test_what_a_client_wants_is_what_the_endpoint_is_asked(
    tmp_path: Path, path: str, body: dict[str, Any], names: set[str], ends: str
) -> None:
    """And an answer that ends there is one that ended as it was meant: nobody is warned, unless its client
    had not asked for that end."""
    endpoint = ThinkingEndpoint(lenient, ends=ends)
    async with endpoint.served() as url:
        settings = settings_for(tmp_path, url, model_api_version=OLDER_VERSION, titles=False)
        async with running_gateway(settings) as client:
            response = await client.post(path, body)
            assert response.status_code == 200, response.text
            events = await _events(client)
    assert _sent(endpoint.bodies[0]) == {name: WANTED[name] for name in names}
    assert the(events, "done")["stop_reason"] == ends
    assert [each for each in events if each["type"] == "warning"] == []


async def test_the_gateway_s_own_limit_is_still_told(tmp_path: Path) -> None:
    """A client that asks for more than GATEWAY_MAX_TOKENS gets that, with the warning."""
    endpoint = ThinkingEndpoint(lenient, ends="max_tokens")
    async with (
        endpoint.served() as url,
        running_gateway(settings_for(tmp_path, url, max_tokens=500, titles=False)) as client,
    ):
        await client.post("/v1/messages", {"messages": SAID, "max_tokens": 32_000})
        events = await _events(client)
    assert endpoint.bodies[0]["max_tokens"] == 500
    assert the(events, "warning")["code"] == "max_tokens"


async def test_a_small_answer_has_no_room_for_a_large_thought(tmp_path: Path) -> None:
    """The budget is lowered below the client's limit, and left out where the least would not fit."""
    endpoint = ThinkingEndpoint(lenient)
    async with (
        endpoint.served() as url,
        running_gateway(settings_for(tmp_path, url, thinking_budget=2000, titles=False)) as client,
    ):
        for most in (5, 1500, 4000):
            await client.post(
                "/v1/messages", {"messages": SAID, "max_tokens": most}, **{"x-session-id": f"s{most}"}
            )
    asked = [(body["max_tokens"], body.get("thinking", {}).get("budget_tokens")) for body in endpoint.bodies]
    assert asked == [(5, None), (1500, 1499), (4000, 2000)]


@given(JSON, JSON, JSON)
def test_no_value_that_a_client_may_send_is_refused(most: Any, stop: Any, heat: Any) -> None:
    """What is no usable value is as if it were not there; what is used can be stored and read back."""
    found = sampling_of(max_tokens=most, stop=stop, temperature=heat, top_p=heat, top_k=most)
    assert stored_sampling(sampling_text(found)) == found
    assert found.max_tokens is None or found.max_tokens >= 1
    assert len(found.stop_sequences) <= MAX_STOPS
    assert all(0 < len(each) <= MAX_STOP for each in found.stop_sequences)


@pytest.mark.parametrize("value", [None, -1, 0, "", "many", True, [5], {"a": 1}, float("inf")])
def test_what_means_nothing_changes_nothing(value: Any) -> None:
    assert sampling_of(max_tokens=value, top_k=value) == UNCHANGED


def test_numbers_may_be_text() -> None:
    """As some clients send them."""
    assert sampling_of(max_tokens="5", temperature="0.7") == Sampling(max_tokens=5, temperature=0.7)


def test_a_wish_of_a_newer_version_is_left_out() -> None:
    """A replica of a newer version may have accepted the turn."""
    assert stored_sampling('{"max_tokens":5,"seed":1}') == Sampling(max_tokens=5)
