"""Prints the table of docs/prompts.md on the sizes of prompt and tools: `python -m docs.prompt_sizes`."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gateway.app import build_app
from gateway.prompt.prompt_report import PromptPreview, preview
from gateway.service.prompts import Previewed
from gateway.settings import Settings, load_settings

WINDOWS = (2048, 4096, 8192, 16_384, 32_768)


class Size(NamedTuple):
    """Prompt and tools for a window (None: an unknown one), as estimated, and the tools left out."""

    window: int | None
    profile: str
    prompt: int
    tools: int
    left_out: Sequence[str]


async def sizes(settings: Settings) -> list[Size]:
    """What a gateway with these settings sends before a first message, window by window."""
    found: list[Size] = []
    for window in (*WINDOWS, None):
        with tempfile.TemporaryDirectory() as folder:
            given = {"context_window": window, "data_dir": Path(folder)}
            shown = await _shown(settings.model_copy(update=given))
        left_out = [each.name for each in shown.left_out]
        found.append(Size(window, shown.profile, shown.tokens, shown.tool_tokens, left_out))
    return found


def table(found: Sequence[Size]) -> str:
    """As Markdown, rounded, so that a word more in a description does not change it."""
    rows = ["| window | form | prompt | tools | left out |", "|---|---|---|---|---|"]
    for each in found:
        window = "larger, or not known" if each.window is None else f"{each.window:,}"
        left_out = ", ".join(f"`{name}`" for name in each.left_out) or "nothing"
        if len(each.left_out) >= ALL:
            left_out = "all"
        rows.append(
            f"| {window} | {each.profile} | {_rounded(each.prompt)} | {_rounded(each.tools)} | {left_out} |"
        )
    return "\n".join(rows)


ALL = 8
"""The optional tools that come with the gateway."""
STEP = 50
"""Tokens that sizes are rounded to."""


def _rounded(tokens: int) -> str:
    return f"{round(tokens / STEP) * STEP:,}"


async def _shown(settings: Settings) -> PromptPreview:
    app = build_app(settings)
    async with app.router.lifespan_context(app):
        try:
            found: Previewed = app.state.gateway.prompts.components()
        finally:
            app.state.begin_shutdown()
    return preview(found.prefix, profile=found.profile, left_out=found.left_out)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as data:
        own = load_settings(data_dir=Path(data), anthropic_base_url="http://127.0.0.1:9", log_level="error")
        print(table(asyncio.run(sizes(own))))
