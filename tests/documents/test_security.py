"""docs/security.md says what the frame of the preview may do, as the gateway and the page have it."""

import re

import pytest

from gateway.page import BUILT, PREVIEW_POLICY
from tests.conftest import ROOT
from tests.harness import Client

PAGES = pytest.mark.parametrize("page", ["docs/security.md", "docs/zh/security.md"])


@PAGES
def test_the_policy_of_the_preview_stands_there_word_for_word(page: str) -> None:
    """One directive a line."""
    (policy,) = re.findall(r"```text\n(sandbox .*?)\n```", (ROOT / page).read_text(), re.DOTALL)
    assert policy.split("\n") == PREVIEW_POLICY.split("; ")


@PAGES
def test_the_sandbox_of_the_frame_is_the_page_s(page: str) -> None:
    """The outer one's and the inner one's, and the policy allows the same: without `allow-same-origin`."""
    sources = [ROOT / "web/app/preview/PreviewPanel.tsx", ROOT / "web/public/preview.html"]
    frames = [each for source in sources for each in re.findall(r"<iframe [^>]*>", source.read_text())]
    given = {sandbox for each in frames for sandbox in re.findall(r'sandbox="([^"]*)"', each)}
    assert (len(frames), len(given), 'src="./preview.html"' in frames[0]) == (2, 1, True)
    (sandbox,) = given
    assert f'`sandbox="{sandbox}"`' in (ROOT / page).read_text()
    assert PREVIEW_POLICY.startswith(f"sandbox {sandbox}; ")


@pytest.mark.anyio
@pytest.mark.skipif(not (BUILT / "preview.html").exists(), reason="the page is not built")
async def test_the_frame_s_document_comes_with_that_policy(shared_client: Client) -> None:
    """Whoever opens its address."""
    answer = await shared_client.get("/preview.html")
    assert (answer.status_code, answer.headers["content-security-policy"]) == (200, PREVIEW_POLICY)
