"""The files of the page, as a strict content policy wants them."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "gateway" / "ui"


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """No script, style, font or image of another origin, nothing inline, and no markup made from strings."""
    for file in FOLDER.iterdir():
        text = file.read_text()
        assert re.findall(r"(?:src|href)=\"(?!ui/|data:)", text) == [], file.name
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|style=", text) == [], (
            file.name
        )


def test_the_page_has_its_icon() -> None:
    """The icon is a file of the page, so that a browser asks for nothing that is not there."""
    icon = re.findall(r'<link rel="icon" href="ui/([^"]+)"', (FOLDER / "index.html").read_text())

    assert icon == ["favicon.svg"]
    assert (FOLDER / "favicon.svg").read_text().startswith("<svg ")


def test_both_languages_have_the_same_words() -> None:
    """Every word of the page is there in English and in Chinese, and every marked element has one."""
    script = (FOLDER / "words.js").read_text()
    english, chinese = (
        re.findall(
            r"(?:^|[{,]) *(\w+): [\"\[{]",
            script.partition(f"const {name} = {{")[2].partition("\n};")[0],
            re.MULTILINE,
        )
        for name in ("english", "chinese")
    )
    marked = re.findall(r'data-word="(\w+)"', (FOLDER / "index.html").read_text())

    assert sorted(english) == sorted(chinese)
    assert set(marked) <= set(english)
