"""Markdown of an answer: what only a browser shows of it."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.running import Running, gateway_process
from tests.ui.page import ask, in_a_browser, opened
from tests.ui.states import saying

pytestmark = in_a_browser

SUM = "+".join(f"a_{{{number}}}" for number in range(1, 28))
FORMULAS = rf"""Long: \({SUM}=0\) is in a line, $x^2$ too.

$${SUM}=0$$

1. 代入公式：
   \[
   x = \frac{{1}}{{2}}
   \]
2. 得到 **结果**，$\ce{{H2O}}$。"""
TABLE = """| 名称 | 说明 | Identifier | 备注 |
|---|---|---|---|
| 电脑 | 这是一段很长的说明文字，它应该有足够的宽度 | `a_very_long_identifier_of_one` | 第一行<br>第二行 |"""
COPIED = """() => new Promise((done) => {
    addEventListener("copy", (event) => done(event.clipboardData.getData("text/plain")), { once: true });
    getSelection().selectAllChildren(document.querySelector(".prose"));
    document.execCommand("copy");
})"""
SELECT = """(prose) => {
    const texts = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
    const first = texts.nextNode();
    let last = first, left = 7;
    while (last.data.length < left) {
        left -= last.data.length;
        last = texts.nextNode();
    }
    getSelection().setBaseAndExtent(first, 0, last, left);
}"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("markdown")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def said(page: Page, text: str) -> Locator:
    ask(page, saying(text))
    expect(page.locator(".outcome.completed")).to_be_visible()
    return page.locator(".prose")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_formula_that_is_wider_than_the_page_scrolls(page: Page, width: int) -> None:
    """Each formula ends within the text's column; what does not fit is reached by scrolling in it, in
    its line as well as below it, and a short one stands on the line that it is in."""
    page.set_viewport_size({"width": width, "height": 800})
    prose = said(page, FORMULAS)
    expect(prose.locator("math")).to_have_count(5)
    for formula in (prose.locator(".math.long").first, prose.locator("div.formula").first):
        inner, outer = formula.evaluate("(each) => [each.scrollWidth, each.clientWidth]")
        assert inner > outer > 0
        formula.evaluate("(each) => { each.scrollLeft = 10_000; }")
        assert formula.evaluate("(each) => each.scrollLeft") > 0
    column = prose.bounding_box()
    assert column is not None
    for formula in prose.locator(".math, .formula").all():
        box = formula.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= column["x"] + column["width"] + 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(prose.locator("li")).to_have_count(2)
    expect(prose.locator("li strong")).to_have_text("结果")


def test_a_formula_is_copied_as_tex(page: Page) -> None:
    """What is selected is copied as it reads, formulas as their TeX."""
    prose = said(page, FORMULAS)
    expect(prose.locator("math")).to_have_count(5)
    lines = [line for line in page.evaluate(COPIED).splitlines() if line != ""]
    assert lines[:4] == [f"Long: ${SUM}=0$ is in a line, $x^2$ too.", "$$", f"{SUM}=0", "$$"]
    assert r"x = \frac{1}{2}" in lines
    assert lines[-1].endswith(r"得到 结果，$\ce{H2O}$。")


def test_a_column_of_chinese_is_some_letters_wide(page: Page) -> None:
    """On a phone a wide table scrolls, and no cell of it is a column of single letters."""
    page.set_viewport_size({"width": 390, "height": 800})
    prose = said(page, TABLE)
    cell = prose.locator("tbody td").nth(1).bounding_box()
    assert cell is not None
    assert cell["width"] > 140
    assert cell["height"] < 130
    expect(prose.locator("td br")).to_have_count(1)


def test_a_selection_stays_while_the_text_grows(page: Page) -> None:
    """Letters that were selected in the paragraph that is being written stay selected until it is whole."""
    ask(page, "/pieces 80 /pace 30")
    prose = page.locator(".prose")
    expect(prose).to_contain_text("005")
    expect(prose.locator(".plain")).to_have_count(0)
    prose.evaluate(SELECT)
    assert page.evaluate("String(getSelection())") == "000 001"
    expect(prose).to_contain_text("050")
    assert page.evaluate("String(getSelection())") == "000 001"
    expect(page.locator(".outcome.completed")).to_be_visible()
    assert page.evaluate("String(getSelection())") == "000 001"


def test_thoughts_in_the_text_are_drawn_as_thinking(page: Page) -> None:
    """What a model writes between its marks of thinking is folded, and no part of the answer."""
    ask(page, saying("<think>\n先想一想。\n</think>\n\n答案是**二**。"))
    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".answer > .prose")).to_have_text("答案是二。")
    page.locator(".step.thinking summary").click()
    expect(page.locator(".step.thinking .prose")).to_have_text("先想一想。")
