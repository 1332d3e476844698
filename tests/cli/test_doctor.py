"""What the doctor finds."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.file_checks import check_files
from gateway.cli.findings import Finding
from gateway.cli.machine_checks import check_documents, check_embeddings, check_model, check_storage
from gateway.cli.stream_check import Arrival, judge
from gateway.client import GatewayClient
from gateway.model.endpoint_profile import OLDER_VERSION
from gateway.storage.data_folder_lock import FolderLock
from tests.cli.calling import Command
from tests.local_endpoint import LocalEndpoint, llama, ollama, serving
from tests.loopback import served
from tests.memory.search.vector_server import VectorServer
from tests.product import Settings, load_settings, serve_demo
from tests.relay import relaying
from tests.running import Running


def _sessions(url: str) -> bytes:
    with GatewayClient(url) as client, client.stream("GET", "/api/sessions") as response:
        return response.read()


def test_a_healthy_place_passes(command: Command, running: Running, tmp_path: Path) -> None:
    """Settings, storage, model and stream each get a line, the exit code is 0, and nothing is left behind."""
    before = _sessions(running.url)
    seen = command("doctor", running.url)

    assert seen.code == 0, seen.out + seen.err
    for line in (
        "✓ settings: complete",
        f"✓ storage: {tmp_path / 'data'} is writable",
        "✓ model: the demo model answers",
    ):
        assert line in seen.out
    assert re.search("✓ stream: streams: (1[0-9]|20) frames arrived over", seen.out)
    assert not (tmp_path / "data").exists()
    assert _sessions(running.url) == before


def test_a_proxy_that_buffers_is_found(command: Command, running: Running) -> None:
    """A proxy that passes the response on when it is complete makes the doctor say what to look for."""
    with relaying(running.url, holds=True) as relay:
        seen = command("doctor", relay.url)

    assert seen.code == 1
    assert re.search("✗ stream: buffered: all (1[0-9]|20) frames arrived within", seen.out)
    assert "proxy_buffering" in seen.out


def test_a_model_that_does_not_answer_is_found(command: Command) -> None:
    """An endpoint that cannot be reached is a ✗ with its address."""
    seen = command("doctor", ANTHROPIC_BASE_URL="http://127.0.0.1:9")

    assert seen.code == 1
    assert "✗ model: " in seen.out
    assert "http://127.0.0.1:9" in seen.out


def test_a_setting_that_is_not_sent_is_told(command: Command) -> None:
    """A temperature beside a version of the API that takes none is a doubt with its remedy."""
    seen = command("doctor", GATEWAY_TEMPERATURE="0.5")

    assert seen.code == 0
    assert "! settings: GATEWAY_TEMPERATURE is not sent" in seen.out
    assert "GATEWAY_MODEL_API_VERSION=2023-06-01" in seen.out


@pytest.mark.anyio
async def test_an_endpoint_that_wants_to_be_asked_otherwise_is_told() -> None:
    """It answers, and what to set so that it is asked rightly at once is a doubt for each setting."""
    async with serve_demo(pace=0, version=OLDER_VERSION, key_header="x-api-key") as url:
        answers, *advice, about = await check_model(
            load_settings(anthropic_base_url=url, anthropic_api_key="any", temperature=0.5)
        )

    assert answers.state == about.state == "good"
    assert "claude-sonnet-5-5 reads 1,000,000 tokens, writes up to 64,000, images, PDFs" in about.text
    assert [finding.state for finding in advice] == ["warning", "warning"]
    assert "GATEWAY_MODEL_AUTH=x-api-key" in advice[0].text
    assert "GATEWAY_MODEL_API_VERSION=2023-06-01" in advice[1].text


def local(url: str, **given: Any) -> Settings:
    return load_settings(anthropic_base_url=url, **given)


@pytest.mark.anyio
async def test_an_endpoint_says_what_it_is_and_which_model_it_has(tmp_path: Path) -> None:
    """Where no model is set it is the one that is listed; its window, and what it takes."""
    async with serving(LocalEndpoint(llama(n_ctx=32_768))) as url:
        answers, about = await check_model(local(url, data_dir=tmp_path))

    assert (answers.state, about.state) == ("good", "good")
    assert answers.text.startswith(f"gemma3-270m at {url}")
    assert about.text == (
        "llama.cpp, 1 request at once; gemma3-270m reads 32,768 tokens, no images, no PDFs, tools"
    )


@pytest.mark.anyio
async def test_a_model_that_the_endpoint_does_not_list_is_found(tmp_path: Path) -> None:
    """A doubt where it answers all the same, as llama.cpp does to any name, else a failure; so are models
    that requests may choose."""
    settings = {"model": "claude-sonnet-5-5", "data_dir": tmp_path}
    async with serving(LocalEndpoint(llama(n_ctx=65_536))) as url:
        *_, doubt = await check_model(local(url, **settings))
        *_, other = await check_model(local(url, model="gemma3-270m", allowed_models=("qwen3",)))
    async with serving(LocalEndpoint(llama(n_ctx=65_536), refuses=(404, "model not found"))) as url:
        fails, _, unknown = await check_model(local(url, **settings))

    assert doubt.state == "warning"
    assert doubt.text == "the endpoint lists gemma3-270m only, and answers to claude-sonnet-5-5 all the same"
    assert (fails.state, unknown.state, other.state) == ("bad", "bad", "bad")
    assert unknown.text == "the endpoint lists gemma3-270m only, not claude-sonnet-5-5: set GATEWAY_MODEL"
    assert "not qwen3 of GATEWAY_ALLOWED_MODELS" in other.text


@pytest.mark.anyio
async def test_several_models_without_a_default_are_a_doubt_with_their_names() -> None:
    """What to set is told; a proxy that lists the usual one is asked for that."""
    async with serving(LocalEndpoint(ollama(("gemma3:270m", "qwen3:8b")))) as url:
        found = await check_model(local(url))

    assert "The model's endpoint lists gemma3:270m, qwen3:8b: set GATEWAY_MODEL to one of them" in {
        each.text for each in found
    }


@pytest.mark.anyio
@pytest.mark.parametrize(("window", "state"), [(2048, "bad"), (8192, "warning")])
async def test_a_window_that_is_too_small_for_prompt_and_tools_is_found(
    window: int, state: str, tmp_path: Path
) -> None:
    """Nothing fits, or little: how much they take, and that the server needs a larger context."""
    async with serving(LocalEndpoint(llama(n_ctx=window))) as url:
        *_, found = await check_model(local(url, data_dir=tmp_path))

    assert found.state == state
    assert f"gemma3-270m reads {window:,} tokens; prompt and tools take about" in found.text
    assert "Give the server a larger context" in found.text


def test_a_missing_gateway_is_found(command: Command) -> None:
    """A URL at which nothing answers is a ✗ and not a stack trace."""
    seen = command("doctor", "http://127.0.0.1:9")

    assert seen.code == 1
    assert "✗ stream: Nothing answers at http://127.0.0.1:9" in seen.out


def test_a_misspelt_setting_is_told(command: Command) -> None:
    """A variable that is no setting is a doubt, not a failure."""
    seen = command("doctor", GATEWAY_PROT="9000")

    assert seen.code == 0
    assert "! settings: GATEWAY_PROT is set but is not a setting" in seen.out


def test_keys_that_the_server_would_refuse_are_found(command: Command) -> None:
    """An API key without a name is a ✗ here and not first when the server starts."""
    seen = command("doctor", GATEWAY_API_KEYS="just-one-long-secret-word")

    assert seen.code == 1
    assert "✗ settings: GATEWAY_API_KEYS must be name:secret" in seen.out
    assert "just-one-long-secret-word" not in seen.out + seen.err


def test_a_folder_that_cannot_hold_a_database_is_found(tmp_path: Path) -> None:
    """A data folder below a file is a ✗ that names it."""
    (tmp_path / "file").write_text("")
    found = check_storage(load_settings(data_dir=tmp_path / "file" / "data"))

    assert [finding.state for finding in found] == ["bad"]
    assert str(tmp_path / "file") in found[0].text


def test_a_database_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    """As on a disk that is mounted read-only, where SQLite cannot open it either."""
    path = load_settings(data_dir=tmp_path).database_path
    path.mkdir()

    found = check_files(load_settings(data_dir=tmp_path))[0]

    assert found.state == "bad"
    assert f"{path} cannot be checked here (" in found.text
    assert "damaged" not in found.text


def test_a_memory_that_is_off_is_not_looked_at(tmp_path: Path) -> None:
    """Nor its schema, nor documents or vectors, which are used by nothing then."""
    (tmp_path / "memory.db").write_bytes(b"rubbish")
    settings = load_settings(
        data_dir=tmp_path, memory=False, documents_dir=tmp_path, embeddings_url="http://127.0.0.1:9/v1"
    )

    assert "bad" not in {finding.state for finding in check_storage(settings)}
    assert check_documents(settings) == asyncio.run(check_embeddings(settings)) == []


def test_documents_are_counted_and_bad_ones_named(tmp_path: Path) -> None:
    """Those of a folder that is there; a bad one is a doubt, since the others go on."""
    settings = load_settings(documents_dir=tmp_path / "documents")
    assert check_documents(settings) == []
    folder = settings.documents_dir
    (folder / "references").mkdir(parents=True)
    (folder / "references" / "网格.md").write_text("---\nskill: logo\n---\n四周至少留 2 格空白。")
    (folder / "bad.json").write_text("[]")

    usable, bad = check_documents(settings)

    assert (usable.state, usable.text) == ("good", f"1 usable in {folder}")
    assert (bad.state, bad.text.startswith("bad.json cannot be used: ")) == ("warning", True)


def test_an_embeddings_api_is_asked_once() -> None:
    """What came is told; one that does not answer is a failure with its code."""

    async def found() -> Finding:
        server = VectorServer()
        async with served(server.app, lifespan=False) as url:
            (finding,) = await check_embeddings(load_settings(embeddings_url=f"{url}/v1"))
        assert len(server.asked) == 1
        return finding

    answered = asyncio.run(found())
    silent = asyncio.run(check_embeddings(load_settings(embeddings_url="http://mia:pass@127.0.0.1:9/v1")))

    assert (answered.state, "answers with vectors of " in answered.text) == ("good", True)
    assert (silent[0].state, "(embeddings_unreachable)" in silent[0].text) == ("bad", True)
    assert "mia:pass" not in silent[0].text


def test_a_running_gateway_is_no_trouble(tmp_path: Path) -> None:
    """With the folder held by a running gateway the storage is well, and its lock is mentioned."""
    settings = load_settings(data_dir=tmp_path)
    settings.database_path.touch()
    with FolderLock(tmp_path):
        held = check_storage(settings)
    free = check_storage(settings)

    assert "a running gateway holds the data folder" in [finding.text for finding in held]
    assert "no other gateway holds the data folder" in [finding.text for finding in free]
    assert "bad" not in {finding.state for finding in (*held, *free)}


@pytest.mark.parametrize(
    ("arrivals", "state"),
    [
        ([Arrival(0, 5000), Arrival(500, 5490), Arrival(1000, 6010)], "good"),
        ([Arrival(0, 5000), Arrival(500, 5001), Arrival(1000, 5002)], "bad"),
        ([Arrival(0, 5000), Arrival(20, 5001)], "warning"),
        ([Arrival(0, 5000)], "warning"),
        ([], "warning"),
    ],
)
def test_streaming_is_judged_by_both_clocks(arrivals: list[Arrival], state: str) -> None:
    """Text that came in much faster than it was written was held back; too little text tells nothing."""
    assert judge(arrivals).state == state
