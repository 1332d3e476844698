"""What stands on a terminal when an answer has been drawn while it came."""

import io
import os
import sys
from collections.abc import Generator
from itertools import pairwise

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.chat import drawn_answer
from gateway.cli.chat.drawn_answer import DrawnAnswer, complete_blocks, rendered

COLUMNS, LINES = 40, 12
ANSWER = (
    """\
# 标题 and a title

A paragraph with **bold**, `code`, a [link](https://example.org/a?b=c) and <b>HTML</b>,
over two lines.

1. one
2. 两个

   with a paragraph of its own
3. three

| a | 宽 |
|---|----|
| 1 | 二 |

> quoted
> > twice

```python
def f():
    return "x" * 100  # a line that is longer than the terminal is wide
"""
    + "\n".join(f"    line_{number}()" for number in range(20))
    + """
```

    indented code

Setext
======

---

The end: an unfinished **mark, and 很长的一段中文，比终端的一行要宽得多，所以要折行显示。
"""
)


class _Screen(io.StringIO):
    """A terminal in the place of stdout."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(COLUMNS, LINES, history=10_000, ratio=0.5)
        self.stream = pyte.Stream(self.screen)

    def fileno(self) -> int:
        return 1

    def write(self, text: str) -> int:
        self.stream.feed(text.replace("\n", "\r\n"))
        return len(text)

    def lines(self) -> list[str]:
        above = ["".join(row[x].data for x in range(COLUMNS)) for row in self.screen.history.top]
        return [line.rstrip() for line in [*above, *self.screen.display]]


def _size(_: int) -> os.terminal_size:
    return os.terminal_size((COLUMNS, LINES))


@pytest.fixture(autouse=True, scope="module")
def _terminal() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        patch.setattr(os, "get_terminal_size", _size)
        patch.setattr(drawn_answer, "PACE", 0)
        patch.setattr(drawn_answer, "SHARE", 0)
        yield


def _drawn(pieces: list[str]) -> list[str]:
    shown = _Screen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", shown)
        answer = DrawnAnswer()
        for number, piece in enumerate(pieces):
            answer.tick("… 3 s" if number % 3 else "")
            answer.write(piece)
        answer.end()
    return [line for line in shown.lines() if line]


@given(st.sets(st.integers(1, len(ANSWER) - 1), max_size=30))
def test_an_answer_looks_the_same_in_whatever_pieces_it_came(cuts: set[int]) -> None:
    """Nothing is lost, doubled or left over from what was drawn meanwhile."""
    pieces = [ANSWER[start:end] for start, end in pairwise([0, *sorted(cuts), len(ANSWER)])]

    assert _drawn(pieces) == [line for line in rendered(ANSWER, COLUMNS - 1) if line]


@given(st.text("ab *_`#>-1.|\n\u2028[]()~<&\\", max_size=200))
def test_an_answer_is_cut_between_blocks_and_nowhere_else(text: str) -> None:
    """The two parts are the whole, and the first one ends with a line."""
    done, rest = complete_blocks(text)

    assert done + rest == text
    assert done == "" or done.endswith("\n")
