"""Servers with a real model, each started once for a file, and gateways before them."""

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import harness
from tests.harness import Client, running_gateway, settings_for
from tests.real_model.running_llama import LONG, PYTHON, TEMPLATE, WITHOUT, RunningLlama, running_llama

Gateways = Callable[..., AbstractAsyncContextManager[Client]]
BRIEF: dict[str, Any] = {
    "memory": False,
    "max_schedules": 0,
    "bundled_skills": False,
    "skills_in_prompt": False,
    "tool_policy": ["calculate=allow", "*=deny"],
    "max_tokens": 100,
}
"""A prompt that a core reads within seconds, and answers that end: most tests are about neither."""


PATIENCE = 360.0
"""Seconds for one answer. On a busy machine a core reads twenty tokens in a second."""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "TIMEOUT", PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = "" if PYTHON.exists() else "There is no .venv-real-model: make test-real-model makes it."
    if os.environ.get(WITHOUT) == "1":
        missing = f"{WITHOUT}=1 leaves the real model out"
    for item in items:
        if "real_model" not in item.keywords:
            continue
        if missing:
            item.add_marker(pytest.mark.skip(reason=missing))
        elif "long_form" in item.keywords and os.environ.get(LONG) != "all":
            item.add_marker(
                pytest.mark.skip(reason=f"{LONG}=all tells the whole story, as make test-real-model")
            )


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    """A server with one slot of 8192 tokens, all that the model was trained for."""
    log = tmp_path_factory.mktemp("llama") / "log"
    with running_llama(log, "--context", "8192", "--template", str(TEMPLATE)) as started:
        yield started


@pytest.fixture
def gateways(tmp_path: Path, anyio_backend: str) -> Gateways:
    """Gateways before a server: `gateways(llama.url, **settings)`."""

    @asynccontextmanager
    async def started(url: str, **given: Any) -> AsyncGenerator[Client]:
        async with running_gateway(settings_for(tmp_path / "data", url, **(BRIEF | given))) as client:
            yield client

    return started
