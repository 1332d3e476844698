"""What stops a turn that would go on for ever."""

import pytest

from tests.harness import running_gateway, the, types
from tests.product import Settings

pytestmark = pytest.mark.anyio

AGAIN = "\n/then\n".join(f'/call calculate {{"expression": "1+{n}"}}' for n in range(6))


@pytest.mark.parametrize(
    ("limit", "message", "code"),
    [
        ({"max_iterations": 3}, AGAIN, "max_iterations"),
        ({"turn_token_budget": 3000}, AGAIN, "budget_exceeded"),
        ({"turn_timeout": 2.0}, "/fault headers_stall", "budget_exceeded"),
    ],
)
async def test_a_limit_ends_the_turn_in_order(
    settings: Settings, limit: dict[str, float], message: str, code: str
) -> None:
    """Steps, tokens and seconds: the turn ends as limit_reached with a warning, and the session goes on."""
    bounded = settings.model_copy(update=limit)
    async with running_gateway(bounded) as client:
        events = await client.chat(message, session_id="mine")
        again = await client.chat("/say fine", session_id="mine")

    assert types(events)[-2:] == ["warning", "done"]
    assert the(events, "warning")["code"] == code
    assert the(events, "done")["status"] == "limit_reached"
    assert the(again, "done")["status"] == "completed"
