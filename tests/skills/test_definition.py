"""SKILL.md: what the specification asks for, and what is mended when it is from elsewhere."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.skills.definition import MAX_FILE_SIZE, check, name_problem, read_definition
from tests.skills.writing import skill_text, write_skill


def define(folder: Path, text: str, name: str = "my-skill") -> Path:
    home = folder / name
    home.mkdir()
    (home / "SKILL.md").write_bytes(text.encode())
    return home


def test_a_whole_definition_is_read(tmp_path: Path) -> None:
    """Every field of the specification, with CRLF lines and a byte order mark."""
    text = (
        "\ufeff---\r\nname: 报告-2\r\ndescription: >\r\n  写月报。\r\n  Use it monthly.\r\nlicense: MIT\r\n"
        "compatibility: needs the network\r\nmetadata:\r\n  author: 安\r\n  version: 1.0\r\n"
        "allowed-tools: calculate mcp__files__*\r\n---\r\n# 报告\r\n\r\nDo it.\r\n"
    )
    home = define(tmp_path, text, "报告-2")

    found = read_definition(home)

    assert (found.name, found.description, found.body) == (
        "报告-2",
        "写月报。 Use it monthly.",
        "# 报告\n\nDo it.",
    )
    assert (found.license, found.compatibility) == ("MIT", "needs the network")
    assert found.metadata == {"author": "安", "version": "1.0"}
    assert found.allowed_tools == ("calculate", "mcp__files__*")
    assert check(home) == ((), ())


@pytest.mark.parametrize(
    ("text", "problem", "name"),
    [
        ("---\ndescription: d\n---\nb", "name is missing: the folder's is taken", "my-skill"),
        (skill_text("other"), "name differs from the folder's, which is my-skill", "other"),
        (skill_text("My_Skill!"), "name must be lower case: it is called my-skill", "my-skill"),
        (
            skill_text("a--b-"),
            "name must not begin or end with a hyphen, nor have two in a row: it is called a-b",
            "a-b",
        ),
        (skill_text("x" * 65), f"name must have 1 to 64 characters: it is called {'x' * 64}", "x" * 64),
        (
            skill_text("my-skill", "d" * 1025),
            "description has 1025 characters, more than 1024: the rest is cut",
            "my-skill",
        ),
        (
            skill_text("my-skill", compatibility="c" * 501),
            "compatibility has 501 characters, more than 500: the rest is cut",
            "my-skill",
        ),
        (skill_text("my-skill", license="[MIT]"), "license must be text", "my-skill"),
        (
            skill_text("my-skill", model="opus"),
            "model is no field of the specification and is ignored",
            "my-skill",
        ),
        (skill_text("my-skill", metadata="[a]"), "metadata must be a list of `key: value` lines", "my-skill"),
        (skill_text("my-skill", metadata="{a: [b]}"), "metadata.a must be text", "my-skill"),
        (
            skill_text("my-skill", "Use when: asked"),
            "line 3: mapping values are not allowed in this context: put quotes around a value that "
            "has a colon",
            "my-skill",
        ),
    ],
)
def test_what_can_be_mended_is_mended_and_told(tmp_path: Path, text: str, problem: str, name: str) -> None:
    """An imported skill is loaded all the same; under the strict rules it has that one problem."""
    home = define(tmp_path, text)

    found = read_definition(home)

    assert found.name == name
    assert found.description
    assert [each for each in found.problems if "differs" not in each or each == problem] == [problem]
    assert check(home)[0] == found.problems
    assert found.as_skill("user", home, "my-skill/SKILL.md").diagnostics == found.problems


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"---\nname: my-skill\n---\nb", "no description"),
        (b"---\nname: my-skill\ndescription: '  '\n---\nb", "no description"),
        (b"---\nname: my-skill\ndescription: [a]\n---\nb", "no description"),
        (b"---\nname: '!!!'\ndescription: d\n---\nb", "its name may have letters, digits and hyphens only"),
        (b"---\nname: x\ndescription: 'd\n---\nb", "line"),
        (b"# Just a heading", "does not begin with front matter"),
        (b"", "does not begin with front matter"),
        ("---\nname: x\ndescription: 中文\n---".encode("gb18030"), "not UTF-8 text at byte"),
        (b"---\nname: x\ndescription: d\n---\na\x00b", "NUL characters"),
    ],
)
def test_what_cannot_be_used_says_why(tmp_path: Path, content: bytes, message: str) -> None:
    """Only a description or readable front matter is indispensable."""
    home = define(tmp_path, "")
    (home / "SKILL.md").write_bytes(content)

    with pytest.raises(ValueError, match=message):
        read_definition(home)
    [problem], advice = check(home)
    assert message in problem
    assert advice == ()


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """10 MB take no memory and no time."""
    home = write_skill(tmp_path, "huge")
    with (home / "SKILL.md").open("ab") as file:
        file.truncate(10_000_000)

    with pytest.raises(ValueError, match=f"larger than {MAX_FILE_SIZE} bytes"):
        read_definition(home)


@pytest.mark.parametrize(
    ("given", "allowed", "problems"),
    [
        ("calculate search_docs", ("calculate", "search_docs"), 0),
        ("'mcp__*'", ("mcp__*",), 0),
        ("[calculate, search_docs]", ("calculate", "search_docs"), 1),
        ("calculate, search_docs", ("calculate", "search_docs"), 1),
        ("Bash(git:*) calculate", ("calculate",), 1),
        ("Bash(git add:*), Bash(rm -rf", (), 3),
        ("计算", (), 1),
        ("", (), 1),
        ("{a: b}", (), 1),
        (" ".join(f"t{number}" for number in range(150)), tuple(f"t{number}" for number in range(100)), 1),
    ],
)
def test_an_entry_that_cannot_be_kept_allows_nothing(
    tmp_path: Path, given: str, allowed: tuple[str, ...], problems: int
) -> None:
    """allowed-tools fails closed: what is not understood never widens what may be called."""
    found = read_definition(write_skill(tmp_path, "x", allowed_tools=given))

    assert found.allowed_tools == allowed
    assert len(found.problems) == problems


def test_a_long_body_is_advice_not_a_problem(tmp_path: Path) -> None:
    """The specification recommends 500 lines and 5000 tokens, and forbids nothing."""
    long = define(tmp_path, skill_text("long", body="把每一步写清楚。\n" * 600), "long")
    empty = define(tmp_path, skill_text("empty", body=""), "empty")

    problems, advice = check(long)
    assert problems == ()
    assert len(advice) == 2
    assert advice[0].startswith("the body has 600 lines, more than 500")
    assert advice[1].startswith("the body has about 5682 tokens, more than 5000")
    assert check(empty) == ((), ("the body is empty: say what to do, step by step",))


def test_hidden_text_is_taken_out_and_told(tmp_path: Path) -> None:
    """Whoever reviews a skill sees what it says: nothing stays hidden in its fields, the body is named."""
    home = write_skill(tmp_path, "x", description='"a\\u202eb\\e[2J"', body="Do\u200b it\U000e0041.")

    assert read_definition(home).description == "ab[2J"
    assert check(home)[1] == ("the body has 2 invisible characters, which the model is not shown",)


def test_problems_are_bounded(tmp_path: Path) -> None:
    """A file with a thousand unknown keys is not told a thousand times."""
    fields = {f"key{number}": "x" for number in range(1000)}

    assert len(read_definition(write_skill(tmp_path, "x", **fields)).problems) == 20


@pytest.mark.parametrize("name", ["a", "a-b", "报告", "月报-2026", "été", "отчёт", "x" * 64])
def test_names_of_any_script_are_valid(name: str) -> None:
    """Letters and digits of every language, as the reference implementation has it."""
    assert name_problem(name) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80))
def test_a_mended_name_is_a_valid_one(tmp_path_factory: pytest.TempPathFactory, given_name: str) -> None:
    """Whatever a file calls its skill, the catalog has a name that can be written and compared, or none."""
    home = tmp_path_factory.mktemp("skill")
    quoted = given_name.replace("'", "''")
    (home / "SKILL.md").write_text(f"---\nname: '{quoted}'\ndescription: d\n---\n", encoding="utf-8")

    try:
        name = read_definition(home).name
    except ValueError:
        return
    assert name_problem(name) is None
    assert name == unicodedata.normalize("NFKC", name)
