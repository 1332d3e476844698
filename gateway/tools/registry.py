"""The tools of a gateway by name."""

import re
from collections.abc import Iterable, Iterator

from gateway.errors import UnknownTool
from gateway.messages import ToolSpec
from gateway.tools.base import Tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # Anthropic Messages API, "tools.name"


class Tools:
    """An immutable set of tools.

    Raises ValueError for a name that is not of 1 to 64 letters, digits, `_` and `-`, or that is used twice.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        by_name: dict[str, Tool] = {}
        for tool in tools:
            name = tool.spec.name
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot be a tool's name: use 1 to 64 letters, digits, _ and -")
            if name in by_name:
                raise ValueError(f"two tools are named {name!r}")
            by_name[name] = tool
        self._by_name = dict(sorted(by_name.items()))
        self._specs = tuple(tool.spec for tool in self._by_name.values())

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools for the model, sorted by name: the same tools always have the same order."""
        return self._specs

    def get(self, name: str) -> Tool:
        """The tool called `name`.

        Raises:
            UnknownTool: there is none; the message lists those that exist, for the model to choose again.
        """
        try:
            return self._by_name[name]
        except KeyError:
            names = ", ".join(self._by_name) or "none"
            raise UnknownTool(f"There is no tool named {name[:64]!r}. Available tools: {names}.") from None

    def plus(self, *tools: Tool) -> "Tools":
        """These and `tools`. Raises ValueError as the constructor does."""
        return Tools((*self, *tools))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name
