"""A reasoning model: llama.cpp takes its thoughts out of the text and sends them as thinking blocks."""

from collections.abc import Generator

import pytest

from tests.harness import text_of
from tests.real_model.conftest import Gateways
from tests.real_model.running_llama import MODEL, TEMPLATE, RunningLlama, running_llama
from tests.real_model.test_story import completed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_model,
    pytest.mark.long_form,
    pytest.mark.long,
    pytest.mark.waits,
]


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    log = tmp_path_factory.mktemp("thinker") / "log"
    with running_llama(log, "--context", "8192", "--template", str(TEMPLATE), "--thinks") as started:
        yield started


async def test_it_thinks_and_answers(thinker: RunningLlama, gateways: Gateways) -> None:
    """Thoughts and text come apart, in one attempt, and the next turn is answered as well."""
    async with gateways(thinker.url, model=MODEL) as client:
        session = await client.session()
        said = await client.chat("Hello", session_id=session)
        assert completed(said)
        thoughts = "".join(each["data"]["text"] for each in said if each["type"] == "thinking")
        assert thoughts
        assert text_of(said)
        assert "<think>" not in text_of(said)
        assert completed(await client.chat("What is the capital of France?", session_id=session))


async def test_it_calls_two_tools_in_one_message(thinker: RunningLlama, gateways: Gateways) -> None:
    """Both are run, and what it thought before does not hinder the call that follows."""
    async with gateways(thinker.url, model=MODEL) as client:
        said = await client.chat("Calculate 3*4 and 5*6.")
        assert completed(said)
        assert [each for each in said if each["type"] == "tool_result"]
