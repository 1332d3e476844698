"""The commands on the pages of the documentation, block by block, and what each page says that they print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (
        *sorted(ROOT.glob("README*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*/README.md")),
    )
]
CHINESE = [page for page in PAGES if page.startswith("docs/zh/") or page == "README.zh-CN.md"]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"\n*```(?:json|text)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)

_TYPED = re.compile(r"^\$ (.*?)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Commands that are typed one after the other; `output` has the lines that they print, `…` for what is
    left out, and is empty where the page shows none."""

    page: str
    line: int
    commands: str
    output: str

    @property
    def starts_a_gateway(self) -> bool:
        """Its last command is a gateway, which does not end by itself."""
        return re.match(r"gateway (dev|serve)\b", self.commands.splitlines()[-1]) is not None

    @property
    def only_sets(self) -> bool:
        """It has nothing but settings for a gateway that is started afterwards."""
        lines = self.commands.splitlines()
        return all(line.startswith("export ") for line in lines) and "GATEWAY_" in self.commands

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """The blocks of shell commands of a page. What directly follows one, without a language, as JSON or as
    text, is its output; a block `console` has both, its commands behind `$`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return list(_blocks(page, text))


def _blocks(page: str, text: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 1
        if fence[1] in ("sh", "bash"):
            output = _OUTPUT.match(text, fence.end())
            yield Block(page, line, fence[2], output[1] if output else "")
        elif fence[1] == "console":
            for shown in _TYPED.finditer(fence[2]):
                before = fence[2].count("\n", 0, shown.start()) + 1
                yield Block(page, line + before, *_divided(shown[1], shown[2]))


def _divided(typed: str, printed: str) -> tuple[str, str]:
    """A command goes on while one of its quotation marks is open."""
    lines = printed.splitlines(keepends=True)
    typed += "\n"
    while typed.count("'") % 2:
        typed += lines.pop(0)
    return typed, "".join(lines)
