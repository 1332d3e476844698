"""Every command of README, of docs/ and of the examples can be typed as it stands there."""

from pathlib import Path

import pytest

from tests.documents.blocks import CHINESE, PAGES, blocks
from tests.documents.reader import NOT_TYPED, STAYS_OPEN, not_typed, type_all

pytestmark = [pytest.mark.long, pytest.mark.waits]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and page not in CHINESE])
def test_the_commands_of_a_page(page: str, tmp_path: Path) -> None:
    """They end well and print what it shows."""
    type_all(page, tmp_path)


def test_no_reason_is_left_of_a_command_that_is_not_there_any_more() -> None:
    """Each is of one block at least."""
    written = [block for page in PAGES for block in blocks(page)]

    assert [words for words in NOT_TYPED if not any(words in not_typed(block) for block in written)] == []
    assert [words for words in STAYS_OPEN if not any(words in block.commands for block in written)] == []
