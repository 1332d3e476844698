"""Which tool calls run, which ask a person first, and which never run; and whose output is trusted."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, cast

from gateway.events.tool_calls import Effect
from gateway.ids import is_client_call
from gateway.messages import ATTACHED, Block

PolicyVerdict = Literal["allow", "ask", "deny"]


FILE_READ = "attachment"
"""The name of a file that the user attached, among the tools whose output the model has read."""
CLIENT_INSTRUCTIONS = "client_instructions"
"""The name of a client application's instructions among them."""
BROUGHT_ALONG = "brought_along"
"""The name, among them, of a conversation that did not take place here: a file or client brought it along."""
CLIENT_TOOL = "client_tool"
"""The name, among them, of a call that the user's client ran. The tool's own name does not count: the client
chooses it."""
SERVER_TOOL = "server_tool"
"""The name, among them, of a tool that the model's endpoint ran itself: a search of the web, mostly."""
MEMBER = "shared_session"
"""The name, among them, of what other members said in the session, as long as it is or was shared."""
DESCRIPTIONS = "tool_descriptions"
"""The name of what MCP servers and clients say of their tools, where that may have led to a change."""
OUTSIDE = (
    "mcp__*",
    "http_fetch",
    "read_artifact",
    "read_archive",
    FILE_READ,
    CLIENT_INSTRUCTIONS,
    CLIENT_TOOL,
    SERVER_TOOL,
    BROUGHT_ALONG,
    MEMBER,
    DESCRIPTIONS,
)
"""Tools that bring in what others wrote, unless a rule trusts them, and the names that the user's files, the
client's instructions and tools, the endpoint's tools and other members go by among them. What was offloaded
or archived may be of any tool, and of a file."""


def speaker(tool: str, tool_call_id: str) -> str:
    """The name of a call's tool among those whose output the model has read."""
    return CLIENT_TOOL if is_client_call(tool_call_id) else tool


def heard_in(role: str, block: Block) -> str | None:
    """The name, among those whose output the model has read, that a block of a message brings in."""
    kind = block["type"]
    if role != "assistant":
        return FILE_READ if kind == ATTACHED else None
    if kind == "tool_use":
        return speaker(block["name"], block["id"])
    return SERVER_TOOL if kind.endswith("_tool_result") else None


class Ruling(NamedTuple):
    """The decision for a call, and the rule that made it; None when no rule fits and the default holds.
    `because`: why a person is asked whatever they granted."""

    verdict: PolicyVerdict
    rule: str | None
    because: str | None = None

    @property
    def reason(self) -> str:
        """For the person who is asked, and for the model when it is denied."""
        if self.because is not None:
            return self.because
        if self.rule is not None:
            return f"The rule {self.rule} of this server's tool policy holds for it."
        return "It has effects." if self.verdict == "ask" else "It has no effects."


def verdict_of(rules: Sequence[str], tool: str, effect: Effect) -> Ruling:
    """The first of `rules` whose glob fits the name of the tool, capitals as written; without one, effectful
    tools ask and others run. `rules` are "glob=verdict", checked by settings.value_types.Policy."""
    for rule in rules:
        glob, _, verdict = rule.partition("=")
        if fnmatchcase(tool, glob):
            return Ruling(cast("PolicyVerdict", verdict), rule)
    return Ruling("ask" if effect == "effectful" else "allow", None)


def is_trusted(rules: Sequence[str], tool: str) -> bool:
    """Whether what a tool gives counts as the operator's own word. The first of `rules` whose glob fits its
    name decides, capitals as written: "glob" trusts, "!glob" does not. Without one, all but those of OUTSIDE
    are trusted."""
    for rule in rules:
        if fnmatchcase(tool, rule.removeprefix("!")):
            return not rule.startswith("!")
    return not any(fnmatchcase(tool, glob) for glob in OUTSIDE)
