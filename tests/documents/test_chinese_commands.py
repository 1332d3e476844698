"""Every command of the Chinese pages can be typed as it stands there."""

from pathlib import Path

import pytest

from tests.documents.blocks import CHINESE, blocks
from tests.documents.reader import type_all

pytestmark = [pytest.mark.long, pytest.mark.waits]


@pytest.mark.parametrize("page", [page for page in CHINESE if blocks(page)])
def test_the_commands_of_a_page(page: str, tmp_path: Path) -> None:
    """They end well and print what it shows."""
    type_all(page, tmp_path)
