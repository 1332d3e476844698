"""Where long texts are divided, and what is found and shown of them."""

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.memory.passages import PASSAGE_TOKENS, WHOLE_TOKENS, passages
from tests.product import estimate_tokens

PARTS = st.sampled_from(
    (
        "# Care\n\n",
        "## 清洁\n",
        "第二章 保养\n\n",
        "一、用水\n",
        "Water the seedlings before noon. ",
        "清洗水箱之前先断电。",
        "\n\n",
        "\n",
        "0123456789" * 20,
        "无标点" * 90,
        "and so on " * 60,
        "a",
        " ",
    )
)
MARKDOWN = f"""# Boat

{"The hull is of oak. " * 40}

## Engine

### Oil

{"Oil is changed in May. " * 40}

```sh
# not a heading
oil --change
```

## Sails

{"The sails are dried. " * 40}
"""
CHINESE = f"""第一章 船体

{"船体是橡木做的。" * 60}

第二节 油漆

{"油漆每年五月补一次。" * 60}

第二章 船帆

{"船帆要晾干。" * 60}"""


@given(st.lists(PARTS, max_size=60).map("".join))
@example("# a\n" * 4_000)
@example("字" * 4_000)
@example(MARKDOWN)
def test_a_long_text_is_divided_without_loss(text: str) -> None:
    """All of it but blanks is in its passages, in order, each once; none is much longer than the others."""
    found = passages(text)

    if not found:
        assert estimate_tokens(text) <= WHOLE_TOKENS or not text.strip()
        return
    parts = [text[each.begin : each.end] for each in found]
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert [(each.number, each.of) for each in found] == [(n, len(found)) for n in range(1, len(found) + 1)]
    assert all(estimate_tokens(part) <= 1.4 * PASSAGE_TOKENS for part in parts)


def test_a_passage_has_the_headings_above_it() -> None:
    """Of Markdown by their level, of Chinese texts by their kind; one heading is not parted from its text."""

    def headings(text: str) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(each.headings for each in passages(text)))

    assert headings(MARKDOWN) == [("Boat",), ("Boat", "Engine", "Oil"), ("Boat", "Sails")]
    assert headings(CHINESE) == [("第一章 船体",), ("第一章 船体", "第二节 油漆"), ("第二章 船帆",)]
    for text in (MARKDOWN, CHINESE):
        assert not any(text[each.begin : each.end].endswith(each.headings[-1]) for each in passages(text))


def test_a_sentence_is_not_cut_where_there_is_room() -> None:
    sentence = "雾天停航时，乘客可以改签到次日的任意一班船，不收手续费。"
    found = passages(sentence * 60)

    assert len(found) > 3
    assert all((sentence * 60)[each.begin : each.end].endswith("。") for each in found)
