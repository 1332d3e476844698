"""A file that is replaced has its former content or all of the new one."""

import os
from pathlib import Path

import pytest

from gateway.files.replacement import replacing


def test_the_new_content_is_there_at_the_end(tmp_path: Path) -> None:
    """Until then the former is, and nothing else stays behind."""
    path = tmp_path / ("字" * 80)
    path.write_bytes(b"before")
    with replacing(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"

    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """A file that was none stays none."""
    (tmp_path / "old").write_bytes(b"before")
    for name in ("new", "old"):
        with pytest.raises(TypeError), replacing(tmp_path / name) as file:
            file.writelines([b"half", None])  # pyright: ignore[reportCallIssue, reportArgumentType]

    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("old", b"before")]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Another one has the rights that the process gives."""
    mask = os.umask(0o022)
    try:
        for private, mode in ((True, 0o600), (False, 0o644)):
            with replacing(tmp_path / "file", private=private) as file:
                file.write(b"x")
            assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    finally:
        os.umask(mask)


def test_a_pipe_is_written_and_stays_a_pipe() -> None:
    """As in `--output /dev/stdout`."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as given, os.fdopen(writer, "wb"):
        with replacing(Path(f"/dev/fd/{writer}")) as file:
            file.write(b"shown")

        assert os.read(given.fileno(), 9) == b"shown"
