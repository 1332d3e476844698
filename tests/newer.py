"""The schema of a version to come: one revision more than there are."""

import shutil
from pathlib import Path

import gateway.storage.migrations
from gateway.storage.migrations import Chain

REVISION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{revision}", {before!r}
branch_labels = depends_on = None
compatible_from = {since!r}


def upgrade():
    op.add_column({table!r}, sa.Column("since_{revision}", sa.Text, server_default="some"))
"""


def newer(folder: Path, chain: Chain, *, is_compatible: bool = True) -> Chain:
    """Copies the revisions of a chain to `folder` and adds one with a column more, on which the versions
    of before may work, or not."""
    revision = next_revision(chain)
    scripts = folder / f"{chain.holds}-{revision}"
    shutil.copytree(Path(gateway.storage.migrations.__file__).parent / chain.folder, scripts)
    since = chain.head if is_compatible else revision
    table = "turns" if chain.holds == "sessions" else "memories"
    text = REVISION.format(revision=revision, before=chain.head, since=since, table=table)
    (scripts / f"{revision}_newer.py").write_text(text)
    return chain._replace(folder=str(scripts), head=revision)


def next_revision(chain: Chain) -> str:
    """That of the version to come."""
    return f"{int(chain.head) + 1:04}"
