"""Which form of the prompt a model is sent: the full one, or a short one that leaves room in a small window.
Pure.

The short form has the short variants of components (`prompts/small/`), short descriptions of tools, names of
skills alone, and leaves out optional tools until prompt and tools fit in a quarter of the window.
"""

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple

from gateway.history.tokens import START, overhead_of
from gateway.messages import ToolSpec
from gateway.model.endpoint_facts import EndpointFacts
from gateway.settings import Settings
from gateway.tools.base import FunctionTool, Tool
from gateway.tools.client_tools import ClientTool
from gateway.tools.policy import verdict_of
from gateway.tools.registry import Tools
from gateway.tools.short_specs import short_spec

Profile = Literal["full", "small"]

SMALL_WINDOW = 32_768
"""Tokens. A model that reads more gets the full prompt, however large it is."""
SHARE = 4
"""Prompt and tools may take one of so many parts of a small window."""
COMPONENTS_SHARE = 2
"""Of that part, what the components may take: one of so many parts."""

OPTIONAL = (
    "search_docs",
    "manage_schedule",
    "list_schedules",
    "read_skill",
    "calculate",
    "current_time",
    "read_artifact",
    "manage_memory",
)
"""The built-in tools in the order in which they are left out; after them the operator's own and those of MCP
servers, the largest first. What the user's client brings along is never left out."""

Why = Literal["denied", "no_room"]


class LeftOut(NamedTuple):
    """A tool that the model is not told of: the tool policy denies every call, or there is no room."""

    name: str
    why: Why


class Offered(NamedTuple):
    """The tools as the model is told of them, and those that it is not told of."""

    specs: tuple[ToolSpec, ...]
    left_out: tuple[LeftOut, ...]

    def has(self, name: str) -> bool:
        return name in map(attrgetter("name"), self.specs)


def small_window(settings: Settings, facts: EndpointFacts, model: str) -> int | None:
    """The tokens that `model` can read at once, where that is known and little. The list of prices is not
    asked: it has no model with a small window."""
    window = settings.context_window or facts.of(model).context_window
    return window if window is not None and window <= SMALL_WINDOW else None


def is_too_large(window: int, size: int) -> bool:
    """Whether a prompt and tools of `size`, as `overhead_of` estimates it, take too much of the window."""
    return START * size > window / SHARE


def room_in(window: int) -> int:
    """What prompt and tools may take of a small window, as `overhead_of` estimates it."""
    return int(window / SHARE / START)


def offered(
    tools: Tools, policy: tuple[str, ...], profile: Profile, room: int | None, *, unless: str | None = None
) -> Offered:
    """The tools of `tools` as the model is told of them: none that the policy denies whatever its arguments;
    in the small profile by short descriptions, and no more than fit in `room` (None: all), without the one
    named `unless`."""
    if profile == "full" and not policy:
        return Offered(tools.specs(), ())
    return _offered(tools, policy, profile, room, unless)


@lru_cache(maxsize=16)
def _offered(
    tools: Tools, policy: tuple[str, ...], profile: Profile, room: int | None, unless: str | None
) -> Offered:
    left_out = [LeftOut(each.spec.name, "denied") for each in tools if policy and _is_denied(policy, each)]
    denied = {each.name for each in left_out}
    allowed = [each for each in tools if each.spec.name not in denied]
    if profile == "full":
        specs = tools.specs() if not denied else tuple(each.spec for each in allowed)
        return Offered(specs, tuple(left_out))
    short = {each.spec.name: _short(each) for each in allowed}
    kept = {each.spec.name for each in allowed if isinstance(each, ClientTool)}
    sizes = {name: overhead_of((), (spec,)) for name, spec in short.items()}
    over = sum(sizes.values()) - room if room is not None else 0
    for name in _order(sizes, kept):
        if over <= 0 and name != unless:
            continue
        over -= sizes[name]
        del short[name]
        left_out.append(LeftOut(name, "no_room"))
    return Offered(tuple(short.values()), tuple(left_out))


def _order(sizes: Mapping[str, int], kept: Set[str]) -> list[str]:
    """The tools in the order in which they are left out."""
    optional = [name for name in OPTIONAL if name in sizes and name not in kept]
    others = sorted(
        (name for name in sizes if name not in OPTIONAL and name not in kept),
        key=lambda name: (-sizes[name], name),
    )
    return [*optional, *others]


def _is_denied(policy: Sequence[str], tool: Tool) -> bool:
    return verdict_of(policy, tool.spec.name, tool.effect).verdict == "deny"


def _short(tool: Tool) -> ToolSpec:
    own = tool.short if isinstance(tool, FunctionTool) else None
    return own or short_spec(tool.spec)
