"""Prompts of an MCP server in the message field: chosen, filled in, and never sent by themselves."""

import json
import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.mcp_servers import prompting
from tests.running import gateway_process
from tests.ui.axe import findings
from tests.ui.page import in_a_browser, opened

pytestmark = in_a_browser


def test_a_prompt_of_a_server_becomes_a_draft(browser: Browser, tmp_path: Path) -> None:
    """What it needs is asked for, its text is the server's; the dialog of all prompts has it by server."""
    servers = {"desk": {"command": sys.executable, "args": [prompting.__file__]}}
    with (
        gateway_process(tmp_path, GATEWAY_MCP_SERVERS=json.dumps(servers)) as gateway,
        opened(browser, gateway.url) as page,
    ):
        field = page.locator("#input")
        field.fill("/weekly")
        option = page.get_by_role("option", name="/weekly")
        expect(option).to_contain_text("desk · 周报")
        option.click()
        dialog = page.get_by_role("dialog", name="Fill in 周报")
        expect(dialog).to_contain_text("Writes the report of a week.")
        assert findings(page) == []
        dialog.get_by_role("button", name="Insert").click()
        expect(dialog).to_be_visible()  # the topic is required
        dialog.get_by_label("topic").fill("茶")
        dialog.get_by_role("button", name="Insert").click()
        expect(dialog).to_have_count(0)
        expect(field).to_have_value(re.compile("^Write a plain report about 茶"))
        expect(page.locator(".chat-row")).to_have_count(0)

        field.fill("/")
        page.get_by_role("option", name="Save a prompt…").or_(
            page.get_by_role("option", name="Saved prompts…")
        ).click()
        offered = page.get_by_role("region", name="From MCP servers")
        expect(offered.get_by_role("heading", name="desk")).to_be_visible()
        expect(offered.get_by_role("listitem")).to_have_count(4)
        expect(offered.get_by_role("button")).to_have_count(0)
        assert findings(page) == []
