"""The client of an embeddings API, against a server that keeps to it and one that does not."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from gateway.errors import EmbeddingsFailed
from gateway.memory.search.embeddings import TEXT_CHARACTERS, Embeddings, embeddings_of
from gateway.memory.search.searcher import FIRST_COOLDOWN, MAX_COOLDOWN, CircuitBreaker
from tests.loopback import TIMEOUT, free_port
from tests.memory.search.vector_server import DIMENSIONS, Fault, VectorServer
from tests.product import SettingsError, load_settings

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"
CODES = dict.fromkeys(get_args(Fault), "embeddings_invalid") | {
    "500": "embeddings_unreachable",
    "429": "embeddings_unreachable",
    "400": "embeddings_refused",
    "401": "embeddings_refused",
    "307": "embeddings_refused",
    "silence": "embeddings_timeout",
}
SIZES = ("another size", "uneven")  # which nobody can tell from one vector


@pytest.fixture
async def embeddings(server: VectorServer) -> AsyncGenerator[Embeddings]:
    embeddings = Embeddings(server.url, "some-model", key=KEY, timeout=TIMEOUT)
    yield embeddings
    await embeddings.close()


async def test_openai_is_asked_with_model_input_and_key(server: VectorServer, embeddings: Embeddings) -> None:
    """And the vectors come back in the order of the texts, as float32 of length 1."""
    texts = ["a cat", "一首歌"]
    vectors = await embeddings.documents(texts)
    again = [await embeddings.query(text) for text in texts]

    assert server.asked[0] == {"model": "some-model", "input": texts}
    assert server.keys[0] == f"Bearer {KEY}"
    assert vectors.shape == (2, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors, again)


async def test_voyage_is_told_what_is_a_query(server: VectorServer) -> None:
    """And without a key none is sent."""
    embeddings = Embeddings(server.url + "/", "voyage-4", api="voyage")
    await embeddings.documents(["a cat"])
    await embeddings.query("a pet")
    await embeddings.close()

    assert [body["input_type"] for body in server.asked] == ["document", "query"]
    assert server.keys == [None, None]


async def test_a_long_text_is_embedded_by_its_beginning(server: VectorServer, embeddings: Embeddings) -> None:
    await embeddings.query("很长" * 500_000)

    assert [len(text) for text in server.texts] == [TEXT_CHARACTERS]


@pytest.mark.parametrize("fault", [fault for fault in get_args(Fault) if fault not in SIZES])
async def test_every_fault_has_a_name_and_tells_no_secret(server: VectorServer, fault: Fault) -> None:
    """Neither the key nor a text is in what is said of it."""
    embeddings = Embeddings(server.url, "m", key=KEY, timeout=0.05 if fault == "silence" else 5)
    server.fault = fault
    with pytest.raises(EmbeddingsFailed) as caught:
        await embeddings.query("a private thought")
    await embeddings.close()

    assert caught.value.code == CODES[fault]
    assert KEY not in repr(caught.value)
    assert "private" not in repr(caught.value)


async def test_vectors_of_several_sizes_are_none(server: VectorServer, embeddings: Embeddings) -> None:
    server.fault = "uneven"
    with pytest.raises(EmbeddingsFailed, match="several") as caught:
        await embeddings.documents(["one", "two"])

    assert caught.value.code == "embeddings_invalid"


async def test_an_address_that_nobody_listens_on_is_unreachable() -> None:
    embeddings = Embeddings(f"http://127.0.0.1:{free_port()}/v1", "m", timeout=TIMEOUT)
    with pytest.raises(EmbeddingsFailed, match="GATEWAY_EMBEDDINGS_URL") as caught:
        await embeddings.query("a cat")
    await embeddings.close()

    assert caught.value.code == "embeddings_unreachable"


async def test_many_may_ask_at_once(server: VectorServer, embeddings: Embeddings) -> None:
    texts = [f"text {number}" for number in range(40)]
    vectors = await asyncio.gather(*(embeddings.query(text) for text in texts))

    assert np.allclose(vectors, await embeddings.documents(texts))


def test_without_numpy_the_setting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the gateway starts, in words that say what to do; without the setting nothing is missed."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(SettingsError, match=r"pip install 'numpy>=2'"):
        embeddings_of(load_settings(data_dir=tmp_path, embeddings_url="http://127.0.0.1:9/v1"))

    assert embeddings_of(load_settings(data_dir=tmp_path)) is None


def test_a_service_that_fails_is_left_alone_for_ever_longer() -> None:
    """One attempt is let through when a rest is over, and one that works ends it."""
    circuit, now = CircuitBreaker(), 1000.0
    assert circuit.allow(now)
    for rest in (FIRST_COOLDOWN, 10, 20, 40, 80, 160, MAX_COOLDOWN, MAX_COOLDOWN):
        circuit.record_failure(now)
        assert not circuit.allow(now + rest - 0.01)
        now += rest
        assert circuit.allow(now)
        assert not circuit.allow(now)

    circuit.record_success()
    assert circuit.allow(now)
    assert circuit.allow(now)


async def test_requests_are_counted_by_what_for_and_how_they_ended(
    server: VectorServer, embeddings: Embeddings
) -> None:
    """One that fails counts once, under its code."""
    server.failures = 1
    with pytest.raises(EmbeddingsFailed):
        await embeddings.query("a cat")
    await embeddings.query("a cat")
    await embeddings.documents(["a cat", "一首歌"])

    assert embeddings.asked == {
        ("query", "embeddings_unreachable"): 1,
        ("query", None): 1,
        ("document", None): 1,
    }
