"""Which skills are switched off, in a real database."""

import pytest

from gateway.storage.decisions import SkillSwitches
from gateway.storage.decisions.switches import SqlSkillSwitches
from tests.product import SqliteDatabase


@pytest.fixture
def switches(database: SqliteDatabase) -> SkillSwitches:
    return SqlSkillSwitches(database)
