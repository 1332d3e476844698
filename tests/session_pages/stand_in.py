"""A reader in the place of the built one, for tests of what is around it."""

from pathlib import Path

from gateway.session_pages.reader_page import Reader

STAND_IN = Reader("style{}", "reader()", "formulas()", "colours()")


def write_stand_in(folder: Path) -> Path:
    """The folder, with the files of a build."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(("reader.css", "reader.js", "formulas.js", "colours.js"), STAND_IN, strict=True):
        (folder / name).write_text(content)
    return folder
