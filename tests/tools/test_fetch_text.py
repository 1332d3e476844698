"""What a person would read of a page, in whatever charset it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.fetch.readable import decoded, readable

BASE = "https://news.example/a/"


@pytest.mark.parametrize(
    ("text", "codec", "declared"),
    [
        ("简体中文 ＡＢＣ €", "gb18030", "gb18030"),
        ("简体中文", "gbk", "gb2312"),
        ("简体中文", "gb2312", "GB2312"),
        ("镕", "gbk", "gb2312"),
        ("繁體中文", "big5", "Big5"),
        ("香港嘅嘢", "big5hkscs", "big5"),
        ("日本語", "shift_jis", "Shift_JIS"),
        ("日本語", "euc_jp", "euc-jp"),
        ("한국어", "cp949", "EUC-KR"),
        ("Привет", "koi8_r", "koi8-r"),
        ("“quoted” – €", "cp1252", "iso-8859-1"),
        ("中文", "utf-8", "utf-8"),
        ("中文", "utf-8", "no-such-charset"),
        ("中文", "utf-8", None),
        ("中文", "utf-16", None),
        ("中文", "utf-8-sig", "gb18030"),
    ],
)
def test_a_page_is_read_in_its_charset(text: str, codec: str, declared: str | None) -> None:
    """A byte order mark counts more than what is declared; names mean what browsers mean by them."""
    assert decoded(text.encode(codec), declared) == text


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ('<meta charset="gbk">', "gb18030"),
        ("<META http-equiv=Content-Type content='text/html; charset=gb2312'>", "gbk"),
        ('<!DOCTYPE html><html><head><meta charset = "Big5" >', "big5"),
        ('<?xml version="1.0" encoding="GB18030"?>', "gb18030"),
    ],
)
def test_a_page_may_name_its_own_charset(head: str, codec: str) -> None:
    """Where the header does not."""
    assert decoded(f"{head}中文".encode(codec), None) == f"{head}中文"


@pytest.mark.parametrize(
    "codec", ["unicode_escape", "raw_unicode_escape", "idna", "punycode", "zip", "hex", "x" * 99]
)
def test_a_codec_that_is_no_charset_is_not_used(codec: str) -> None:
    """Python has many that a page has no business with."""
    assert decoded(rb"\u0041 6869", codec) == r"\u0041 6869"


@given(
    st.binary(max_size=200), st.none() | st.text(max_size=20) | st.sampled_from(["gbk", "utf-16", "utf-7"])
)
def test_any_bytes_become_clean_text(body: bytes, declared: str | None) -> None:
    """No control characters but tab and newline."""
    text = decoded(body, declared)

    assert all(char in "\t\n" or (char >= " " and not "\x7f" <= char <= "\x9f") for char in text)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>One</h1><h3>Three <b>bold</b></h3>text", "# One\n\n### Three bold\n\ntext"),
        ("<p>a\n  b</p><p>c<br>d</p>", "a b\n\nc\nd"),
        ("<ul><li>一</li><li><p>二</p></li></ul>", "- 一\n- 二"),
        ("<ul><li></li><li><i></i>two</ul>", "- two"),
        ("<h2></h2><p>text</p>", "text"),
        ("<table><tr><th>a<th>b<tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"),
        ("<pre>def f():\n    return 1</pre>", "def f():\n    return 1"),
        ("x<script>var a = '<p>no</p>'</script>y<style>p{}</style>z", "xyz"),
        ("a<svg><title>no</title><svg></svg>no</svg>b<template><p>no</p></template>c", "abc"),
        ("<noscript>no</noscript>&lt;b&gt; &amp; &#20013;&hellip;", "<b> & 中…"),
        ("<a href='../b?x=1&amp;y=2'>link</a>", "link (https://news.example/b?x=1&y=2)"),
        ("<a href=//o.example>x</a>, <a href='http://o.example/'>http://o.example/</a>", None),
        ("<a href='javascript:alert(1)'>run</a> <a href='data:,x'>d</a> <a href='#x'>here</a>", "run d here"),
        ("<a href='/x'><img src=y></a>after", "after"),
        ("<a href='http://[bad'>b</a> <a>c</a>", None),
        (
            "<a href='/1'>one <a href='/2'>two</a>",
            "one (https://news.example/1) two (https://news.example/2)",
        ),
        ("plain text without a tag", "plain text without a tag"),
        ("1 < 2 && 3 > 2", "1 < 2 && 3 > 2"),
        ("before<!-- a comment --><![CDATA[x]]>after", "beforeafter"),
        ("<![if !IE]>shown<![endif]>", "shown"),
        ("<!weird>shown<?php no ?>", "shown"),
        ("cut in a <a href='", "cut in a"),
        ("", ""),
    ],
)
def test_html_is_told_as_it_reads(html: str, text: str | None) -> None:
    """Structure stays, markup goes."""
    page = readable(html, BASE, 10_000)

    if text is None:
        text = {"x": "x (https://o.example), http://o.example/", "b": "b c (https://news.example/a/)"}[
            page.text[0]
        ]
    assert page == ("", text, True)


def test_the_title_is_the_first_one() -> None:
    """On one line, and not too long."""
    html = f"<title> 新闻\n one </title><title>two</title><p>x<title>{'y' * 999}"

    assert readable(html, BASE, 100)[:2] == ("新闻 one", "x")
    assert len(readable(f"<title>{'y' * 999}</title>", BASE, 100).title) == 300


def test_reading_stops_where_enough_is_read() -> None:
    """And says so."""
    text = readable("<p>字</p>" * 100_000, BASE, 50)

    assert text.text == "字\n\n" * 16 + "字\n"
    assert not text.whole


MARKUP = [
    *"<>/!?-&;#='\" a字\n",
    *("<a href=", "<li>", "</li>", "<pre>", "<!--", "-->", "<![", "]]>", "<script>", "</script>", "<title>"),
    *("<svg>", "</svg>", "<td>", "<h1>", "</h1>", "http://[", "&amp", "<p/>", "<br>"),
]


@given(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join), st.integers(1, 200))
def test_any_markup_becomes_bounded_text(html: str, limit: int) -> None:
    """However broken it is."""
    text = readable(html, BASE, limit)

    assert len(text.text) <= limit
    assert "\n\n\n" not in text.text or "<pre>" in html


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "<a ",
        "<a b='",
        "</",
        "<![",
        "<script></",
        "&#",
        "<a x",
        "<svg>",
        "<a href=x>",
        "<td>",
        "x='y',",
    ],
)
def test_markup_that_is_made_to_be_slow_is_read_to_its_end(piece: str) -> None:
    """Half a megabyte of things left open; a parser that starts over at each of them takes minutes."""
    html = "<p>start</p>" + piece * (500_000 // len(piece))

    assert readable(html, BASE, 1000).text.startswith("start")
