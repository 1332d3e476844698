"""Files of a folder: what is read, and what never is."""

import os
from pathlib import Path

import pytest

from gateway.files.confined_read import Read, as_text, read_file, read_real, real_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "plain").write_bytes(b"12345")
    os.utime(folder / "deep" / "plain", ns=(1, 2_000_000))
    return folder


def test_a_file_is_read_by_its_name_and_by_links_within_the_folder(folder: Path) -> None:
    """Also where the folder itself is a link, as that of a mounted ConfigMap is."""
    (folder / "link").symlink_to("deep/plain")
    (folder.parent / "named").symlink_to("folder")

    for name in ("deep/plain", "link", "deep/../link"):
        assert read_file(folder.parent / "named", name, 5) == Read(b"12345", 2)


def test_a_file_that_is_too_large_is_refused_or_cut(folder: Path) -> None:
    """As its reader wants it."""
    with pytest.raises(ValueError, match="larger than 4 bytes"):
        read_file(folder, "deep/plain", 4)

    assert read_file(folder, "deep/plain", 4, cut=True).content == b"1234"


@pytest.mark.parametrize(
    "name", ["../secret", "{outside}", "away", "up/secret", "a\0b", "deep", ".", "pipe", "loop"]
)
def test_nothing_else_is_read(folder: Path, name: str) -> None:
    """Neither what lies outside, whichever way leads there, nor what is no file; the path is not told."""
    (folder / "away").symlink_to(folder.parent / "secret")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")

    with pytest.raises(ValueError, match=r"^(?!.*/)") as refused:
        read_file(folder, name.format(outside=folder.parent / "secret"), 100)

    assert str(folder) not in str(refused.value)


@pytest.mark.parametrize("name", ["nothing", "dangling", "deep/plain/more"])
def test_what_is_not_there_is_an_error_of_the_system(folder: Path, name: str) -> None:
    """Which may be over the next time."""
    (folder / "dangling").symlink_to("nothing")

    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        read_file(folder, name, 100)


@pytest.mark.parametrize("swapped", ["deep", "deep/plain"])
def test_a_link_that_takes_the_place_of_a_part_after_the_check_is_not_followed(
    folder: Path, swapped: str
) -> None:
    """Between the look at where a path leads and its opening somebody may change it."""
    real = real_path(folder, "deep/plain")
    (folder / swapped).rename(folder / "former")
    (folder.parent / "plain").write_text("secret")
    (folder / swapped).symlink_to(folder.parent if swapped == "deep" else folder.parent / "secret")

    with pytest.raises(OSError, match=r"Too many levels of symbolic links|Not a directory"):
        read_real(folder, real, 100)


def test_text_is_utf_8_in_lines_of_one_kind() -> None:
    assert as_text(b"\xef\xbb\xbfa\r\nb\rc\n") == "a\nb\nc\n"
    with pytest.raises(ValueError, match="not UTF-8 text at byte 1"):
        as_text(b"a\xff")
