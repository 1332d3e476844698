"""Whole programs before llama.cpp with real weights: the page in Chromium, and `gateway eval`."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.real_model.conftest import BRIEF, PATIENCE
from tests.real_model.running_llama import MODEL, RunningLlama
from tests.running import gateway_process, run
from tests.ui.conftest import FLAGS, PROGRAMS
from tests.ui.page import ask, in_a_browser, opened

pytestmark = [pytest.mark.real_model, pytest.mark.long_form, pytest.mark.long, pytest.mark.waits]
WAIT = PATIENCE * 1000
LONG_ENOUGH = {"GATEWAY_MAX_TOKENS": "200"}
"""A story that is not over before a person finds Stop."""


def environment(llama: RunningLlama) -> dict[str, str]:
    """The settings of the other tests as a person writes them."""
    named = {f"GATEWAY_{name.upper()}": value for name, value in BRIEF.items() if name != "tool_policy"}
    written = {name: str(value).lower() for name, value in named.items()}
    policy = {"GATEWAY_TOOL_POLICY": ",".join(BRIEF["tool_policy"])}
    return {**written, **policy, "ANTHROPIC_BASE_URL": llama.url, "GATEWAY_MODEL": MODEL} | LONG_ENOUGH


class TestPage:
    """What a person sees."""

    pytestmark = in_a_browser

    def test_a_person_chats_and_stops(self, tmp_path: Path, llama: RunningLlama) -> None:
        """The answer is on the page, a long one can be stopped, and the chat goes on."""
        path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
        with (
            gateway_process(tmp_path, **environment(llama)) as gateway,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=path, args=FLAGS) as browser,
            opened(browser, gateway.url) as page,
        ):
            ask(page, "What is the capital of France?")
            expect(page.get_by_text("Paris").first).to_be_visible(timeout=WAIT)
            ask(page, "Tell me a story about a river.")
            stop = page.get_by_role("button", name="Stop")
            expect(stop).to_be_visible()
            expect(page.get_by_text("river", exact=False).nth(1)).to_be_visible(timeout=WAIT)
            if stop.is_visible():
                stop.click()
            expect(stop).to_have_count(0, timeout=WAIT)
            ask(page, "Hello")
            expect(page.get_by_text("How can I help you?").first).to_be_visible(timeout=WAIT)


def test_eval_ends_with_a_table(tmp_path: Path, llama: RunningLlama) -> None:
    """Such a model passes nothing; the command says so, with reasons, and ends by itself."""
    given = ("--only", "language", "--turn-timeout", "60", "--model-timeout", "90")
    ended = run(tmp_path, "eval", f"{MODEL}@{llama.url}", *given)
    assert ended.returncode in {0, 1}, ended.stderr
    assert MODEL in ended.stdout
    assert "Traceback" not in ended.stderr
