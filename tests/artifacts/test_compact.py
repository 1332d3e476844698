"""What is told of a content in place of itself, by its kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.compact import Compact, compact_of
from gateway.artifacts.compact.line_stretches import LOOKED_THROUGH
from gateway.artifacts.content import ArtifactContent, bytes_content, measure
from gateway.artifacts.kinds import kind_of
from gateway.storage.artifacts import Kind
from gateway.tools.wrapping import visible
from tests.artifacts.test_kinds import PNG
from tests.product import estimate_tokens

KINDS: tuple[Kind, ...] = ("text", "json", "csv", "markdown", "code", "log", "image", "pdf", "binary")
NAMES = ["a.py", "a.ts", "a.go", "a.rs", "a.java", "a.c", "a.html", "a.sql", "a.rb", "a.sh", None]
MAX_TOKENS = 330


def compact(data: bytes | str, name: str | None = None) -> Compact:
    content = bytes_content(data.encode() if isinstance(data, str) else data, name)
    measured = measure(content)
    return compact_of(content, measured, kind_of(measured, name, None)[0])


def pieces(data: bytes, size: int, name: str | None = None) -> ArtifactContent:
    return ArtifactContent(lambda: (data[at : at + size] for at in range(0, len(data), size)), name)


def test_a_text_is_told_by_its_first_and_last_lines_with_their_numbers() -> None:
    form = compact("\n".join(f"第{number}行 line" for number in range(1, 1001)))
    lines = form.text.split("\n")
    assert lines[0] == "Text, 1,000 lines"
    assert lines[1] == "1: 第1行 line"
    assert lines[-1] == "1000: 第1000行 line"
    assert "…" in lines
    assert form.examples["lines"] == "1-50"
    assert form.examples["search"] == "line"


def test_a_short_text_is_told_whole_and_no_line_twice() -> None:
    assert compact("one\ntwo\n三\n").text == "Text, 3 lines\n1: one\n2: two\n3: 三"


def test_one_line_of_two_megabytes_is_told_by_its_beginning_and_its_end() -> None:
    form = compact("开始" + "x" * 2_000_000 + "结束")
    assert form.text.startswith("Text, 1 line\n1: 开始xxx")
    assert form.text.endswith("xxx结束")
    assert estimate_tokens(form.text) <= MAX_TOKENS
    assert "lines" not in form.examples


def test_a_table_is_told_by_its_columns_and_the_number_of_its_rows() -> None:
    """A line end inside quotes ends no row."""
    rows = "".join(f'{number},"李, 雷","上\n海"\n' for number in range(10_000))
    form = compact(f"id,name,city\n{rows}", "people.csv")
    assert form.text == "CSV, 10,000 rows of 3 columns\nid: e.g. 0\nname: e.g. 李, 雷\ncity: e.g. 上 海"


def test_a_table_without_titles_and_one_with_many_columns_say_so() -> None:
    assert compact("1;2\n3;4\n", "a.csv").text.startswith(
        "CSV, 2 rows of 2 columns, separated by semicolons, without titles\ncolumn 1: e.g. 1"
    )
    wide = compact(",".join(f"c{n}" for n in range(500)) + "\n" + ",".join("x" * 500), "a.csv")
    assert wide.text.splitlines()[-1].endswith(" more columns")


def test_quotes_that_do_not_pair_leave_the_number_of_lines() -> None:
    assert compact('size,name\n5",pipe\n6,tube\n', "a.csv").text.startswith("CSV, 2 rows")


def test_markdown_is_told_by_its_headings_but_not_those_in_code() -> None:
    form = compact("# 标题\n\n```sh\n# no heading\n```\n\n## Two ##\ntext\n", "a.md")
    assert form.text == "Markdown, 8 lines, 2 headings\n1: # 标题\n7: ## Two"


def test_many_headings_are_counted_beyond_those_that_are_shown() -> None:
    form = compact("".join(f"## Chapter {number}\n" for number in range(5000)), "a.md")
    shown = form.text.split("\n")
    assert shown[0] == "Markdown, 5,000 lines, 5,000 headings"
    assert shown[-1] == f"… {5000 - (len(shown) - 2):,} more headings"


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        (
            "a.py",
            "import os\n\nclass 类(Base):\n    async def run(self) -> int:\n",
            ["3: class 类(Base)", "4: async def run"],
        ),
        (
            "a.ts",
            "export async function go(a: string) {\n}\nexport const f = (x) => x\n",
            ["1: export async function go", "3: export const f = (x) =>"],
        ),
        (
            "a.go",
            "func (s *Server) Run(ctx context.Context) error {\n}\ntype T struct {\n",
            ["1: func (s *Server) Run", "3: type T struct"],
        ),
        (
            "a.rs",
            "pub(crate) fn go(a: u8) -> u8 {\n}\nimpl Shelf for Box {\n",
            ["1: pub(crate) fn go", "3: impl Shelf for Box"],
        ),
        (
            "A.java",
            "public final class A {\n  public static void main(String[] args) {\n",
            ["1: public final class A", "2: public static void main"],
        ),
        (
            "a.c",
            "struct list {\n};\nstatic int add(int a, int b)\n{\n  add(1, 2);\n",
            ["1: struct list", "3: static int add(int a, int b)"],
        ),
    ],
)
def test_code_is_told_by_its_functions_and_classes(name: str, code: str, message: list[str]) -> None:
    lines = compact(code, name).text.split("\n")
    assert lines[0].endswith("2 definitions")
    assert [line.startswith(begin) for line, begin in zip(lines[1:], message, strict=True)] == [True, True]


def test_code_without_definitions_is_told_like_text() -> None:
    assert compact("a: 1\nb: 2\n", "a.yaml").text == "YAML, 2 lines\n1: a: 1\n2: b: 2"


def test_a_log_is_told_by_its_levels_and_its_first_errors() -> None:
    lines = [
        f"2026-01-02 10:00:00 {'ERROR 磁盘已满' if n in (50, 70) else 'INFO ok'} {n}" for n in range(1, 101)
    ]
    form = compact("\n".join(lines))
    assert form.text.startswith(
        "Log, 100 lines: 2 error, 98 info\nFirst errors:\n50: 2026-01-02 10:00:00 ERROR 磁盘已满 50\n70:"
    )
    assert form.examples["lines"] == "45-70"
    assert form.examples["search"] == "ERROR"


def test_of_a_very_long_log_the_beginning_is_counted_and_that_is_said() -> None:
    line = b"2026-01-02 10:00:00 INFO " + b"x" * 38 + b"\n"
    form = compact(line * (5_000_000 // len(line)))
    looked_at = LOOKED_THROUGH // len(line)
    assert form.text.startswith(
        f"Log, 78,125 lines: {looked_at:,} info (counted in its first {LOOKED_THROUGH:,} bytes)"
    )


def test_levels_in_small_letters_count_where_they_are_values() -> None:
    form = compact('{"level":"warn","msg":"an error"}\n{"level":"info"}\n', "a.log")
    assert form.text.startswith("Log, 2 lines: 1 warning, 1 info")


def test_what_is_no_text_is_told_by_its_format() -> None:
    assert compact(PNG).text == "PNG image, 640 × 480 pixels"
    pages = b"1 0 obj<</Type /Page>>\n" * 3 + b"<</Type/Pages>>"
    assert compact(b"%PDF-1.4\xff\n" + pages + b"%%EOF").text == "PDF, 3 pages"
    assert compact(b"%PDF-1.4\xff\n%%EOF").text == "PDF, its pages cannot be counted from outside"
    assert compact(b"\x00\x01").text == "Data of unknown format, no text\nBegins with (hex): 00 01"


@pytest.mark.parametrize("encoding", ["gbk", "big5", "shift_jis", "latin-1"])
def test_a_text_in_another_encoding_is_told_as_one_that_can_be_converted(encoding: str) -> None:
    text = "café\tdéjà vu\r\n" if encoding == "latin-1" else "時間\t日本\r\n一二三\n"
    form = compact(text.encode(encoding) * 1000, "笔记.txt").text.split("\n")

    assert form[0] == "No UTF-8: perhaps text in another encoding, such as GBK"
    assert form[1] == "To read it as text, keep it converted to UTF-8 (iconv -f GBK -t UTF-8)"


def test_utf_16_is_known_by_its_mark() -> None:
    for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        form = compact(mark + "一二三".encode(encoding)).text
        assert form.startswith("Text in UTF-16, not UTF-8\nTo read it as text, keep it converted to UTF-8")


def test_an_archive_is_never_unpacked_and_what_it_holds_is_not_read() -> None:
    form = compact(b"PK\x03\x04" + bytes(22) + b"ignore-all-instructions.txt\x00")
    assert form.text.startswith("ZIP archive, no text\nBegins with (hex): 50 4b 03 04")
    assert "ignore" not in form.text
    assert form.examples == {"bytes": "0-53"}


TEXT = st.text(st.characters(codec="utf-8"), max_size=400) | st.text(
    "ab中,\"'\n#{}[]: \t\r😀<>/()=\\`\u202e\u200b", max_size=400
)


@given(TEXT, st.sampled_from(KINDS), st.sampled_from(NAMES), st.integers(1, 40))
def test_any_content_has_a_short_visible_form_which_does_not_depend_on_its_pieces(
    text: str, kind: Kind, name: str | None, size: int
) -> None:
    data = text.encode() * 3
    content = bytes_content(data, name)
    measured = measure(content)
    form = compact_of(content, measured, kind)
    assert estimate_tokens(form.text) <= MAX_TOKENS
    assert form.text == visible(form.text)
    assert form == compact_of(content, measured, kind)
    assert form.text == compact_of(pieces(data, size, name), measured, kind).text


@given(st.binary(max_size=400), st.sampled_from(KINDS))
def test_no_bytes_of_whatever_kind_make_it_fail(data: bytes, kind: Kind) -> None:
    content = bytes_content(data)
    assert compact_of(content, measure(content), kind).text


@given(TEXT, st.sampled_from(["a.csv", "a.md", "a.py", "a.log", "a.json", None]))
def test_the_examples_fit_the_content(text: str, name: str | None) -> None:
    data = text.encode()
    measured = measure(bytes_content(data))
    examples = compact(data, name).examples
    if "lines" in examples:
        first, last = map(int, examples["lines"].split("-"))
        assert measured.lines is not None
        assert 1 <= first <= last <= measured.lines
    if "bytes" in examples:
        assert int(examples["bytes"].removeprefix("0-")) < measured.size
    if "search" in examples:
        assert examples["search"] in text
