"""The demo's closing words: what the tools returned, quoted with its sources, and what the demo is."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from gateway.demo import memory, notes, recall
from gateway.demo.asked import Asked, ToolSaid

SAMPLE_ORDERS = "sample_orders"
"""The tool of orders.py, which tells what came of its calls itself."""
MAX_QUOTES = 3
MAX_QUOTE_LINES = 8
MAX_QUOTE = 500
_ENTRY = re.compile(r"^\[\d+\] (?P<source>.+)$", re.MULTILINE)
_OFFERS = {notes.TOOL: "note", SAMPLE_ORDERS: "orders"}
_LEFT_OUT = re.compile(r"</?[a-z_]++[^>]*+>$|<!--|\|")

_WORDS = {
    "found": ("The documentation says about “{}”:", "关于“{}”，文档中写道："),
    "result": ("{} = **{}**", "{} = **{}**"),
    "time": ("It is {}.", "现在是 {}。"),
    "said": ("`{}` returned:", "`{}` 返回："),
    "failed": ("`{}` failed: {}", "`{}` 出错了：{}"),
    "denied": ("`{}` was not run: {}", "`{}` 没有执行：{}"),
    "nothing": ("Done.", "完成。"),
    "hello": ("Hello!", "你好！"),
    "who": (
        "I am the built-in demo model of this gateway, not a real language model. Ask me how the gateway "
        "works (“How do I resume a stream?”), let me calculate (“17*23”), or ask for the time: I answer with "
        "the gateway's tools.",
        "我是网关内置的演示模型，不是真正的大语言模型。你可以问我网关怎么用（“怎么恢复一个流？”），"
        "让我计算（“17 乘以 23”），或者问我时间，我会调用网关的工具来回答。",
    ),
    "note": (
        "Say “note that the door code is 4711” to see a call that waits for your approval.",
        "说一句“记一下：门禁密码是 4711”，可以看到一次等你批准的调用。",
    ),
    "orders": (
        "Say “show me 10000 sample orders” to see how a large result is kept aside.",
        "说一句“给我一万条示例订单”，可以看到大的结果怎样另外存放。",
    ),
    "echo": ("To “{}” I have no answer of my own.", "对于“{}”，我自己没有答案。"),
    "real": (
        "For a real model set `ANTHROPIC_API_KEY` (or `ANTHROPIC_BASE_URL`) and start the gateway again.",
        "要使用真正的模型，请设置 `ANTHROPIC_API_KEY`（或 `ANTHROPIC_BASE_URL`），然后重新启动网关。",
    ),
    "demo": (
        "(I am the built-in demo model: I call tools and quote them, I do not reason.)",
        "（我是内置的演示模型：只调用工具并引用结果，不会推理。）",
    ),
}


def report(asked: Asked) -> str:
    """The answer after the tools have run."""
    chinese = asked.chinese
    told = [said for said in (memory.heeded(asked), *(_told(said, asked) for said in asked.results)) if said]
    if not told:
        return _say("nothing", chinese)
    if {said.name for said in asked.results} <= {recall.TOOL, memory.TOOL}:
        return "\n\n".join(told)
    return "\n\n".join([*told, closing(chinese)])


def closing(chinese: bool) -> str:
    """What every report ends with."""
    return f"{_say('demo', chinese)} {_say('real', chinese)}"


def failure(tool: str, content: str, *, chinese: bool) -> str:
    """A call that did not work, and one that nobody allowed."""
    what = "denied" if "was not run" in content else "failed"
    return _say(what, chinese, tool, short(content, MAX_QUOTE))


def introduce(asked: Asked, *, greeted: bool) -> str:
    """The answer to a greeting, or to what no tool can answer."""
    chinese = asked.chinese
    first = _say("hello", chinese) if greeted else _say("echo", chinese, short(asked.text, 80))
    told = [f"{first} {_say('who', chinese)}"]
    told += [_say(what, chinese) for tool, what in _OFFERS.items() if tool in asked.tools]
    return "\n\n".join([*told, _say("real", chinese)])


def _say(what: str, chinese: bool, *values: object) -> str:
    return _WORDS[what][chinese].format(*values)


def _told(said: ToolSaid, asked: Asked) -> str | None:
    content, chinese = said.content.strip(), asked.chinese
    if said.is_error:
        return failure(said.name, content, chinese=chinese)
    match said.name:
        case "search_docs":
            query = said.arguments.get("query", "")
            return "\n\n".join([_say("found", chinese, query), *quotes(content)])
        case "calculate":
            return _say("result", chinese, said.arguments.get("expression", ""), _number(content))
        case "current_time":
            return _say("time", chinese, short(content, 100))
        case recall.TOOL | memory.TOOL:
            return _from_memory(said, asked)
        case _:
            return "\n\n".join([_say("said", chinese, said.name), quote(content)])


def _from_memory(said: ToolSaid, asked: Asked) -> str | None:
    if said.name == memory.TOOL:
        return memory.told(said, asked)
    return recall.from_archive(asked.text, said.content.strip(), chinese=asked.chinese)


def quotes(content: str) -> list[str]:
    """Search results as Markdown quotations with their sources: numbered entries, JSON, or any other text."""
    found = list(_entries(content))[:MAX_QUOTES]
    return [f"{quote(text)}\n> — {source}" if source else quote(text) for source, text in found]


def _entries(content: str) -> Iterator[tuple[str, str]]:
    heads = list(_ENTRY.finditer(content))
    if heads:
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            yield head["source"], content[head.end() : following.start() if following else None]
        return
    hits = _json_hits(content)
    for hit in hits:
        text = next(
            (hit[name] for name in ("snippet", "text", "content") if isinstance(hit.get(name), str)), ""
        )
        source = next(
            (hit[name] for name in ("source", "path", "title") if isinstance(hit.get(name), str)), ""
        )
        yield source, text
    if not hits:
        yield "", content


def _json_hits(content: str) -> list[dict[str, Any]]:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return []
    hits = value.get("results") if isinstance(value, dict) else value
    return [hit for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []


def quote(text: str) -> str:
    """The first lines of a passage. Tags and tables are left out, and a code block that was cut is closed."""
    lines = [
        line.rstrip() for line in text.splitlines() if line.strip() and not _LEFT_OUT.match(line.strip())
    ]
    kept = short("\n".join(lines[:MAX_QUOTE_LINES]), MAX_QUOTE).splitlines()
    if sum(line.lstrip().startswith("```") for line in kept) % 2:
        kept.append("```")
    return "\n".join(f"> {line}" for line in kept)


def _number(content: str) -> str:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return short(content, 200)
    if isinstance(value, dict):
        return str(value.get("result", value.get("value", content)))
    return short(content, 200)


def short(text: str, most: int) -> str:
    """The text, or as much of it as `most` characters hold."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
