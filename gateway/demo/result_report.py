"""What the demo says, in English and Chinese: phrases, and what the tools gave, quoted with its sources."""

import re
from collections.abc import Iterator

from gateway.demo import skill_steps as skills
from gateway.demo.question import Question, Result, closest, is_question, memories_in, sentences
from gateway.messages import shortened

MAX_QUOTE, MAX_QUOTE_LINES = 500, 8
MAX_LISTED = 20
"""Files, memories and passages that one answer names."""
_ENTRY = re.compile(r"^\[\d+\] (.+)$", re.MULTILINE)
_MARKUP = re.compile(r"</?[a-z_]++[^>]*+>$|<!--|\|")
_WORDS = {
    "calls": ("Let me call {}.", "我来调用 {}。"),
    "skill": ("I followed the skill `{}`: {} of its {} steps.", "我按技能 `{}` 做了：{} 步，共 {} 步。"),
    "gave": ("`{}` returned:", "`{}` 返回："),
    "failed": ("`{}` failed: {}", "`{}` 出错了：{}"),
    "denied": ("`{}` was not run: {}", "`{}` 没有执行：{}"),
    "said": ("The closest that you told me: “{}”", "你告诉过我的话里，最接近的是：“{}”"),
    "nothing": ("I find nothing about it in what you told me.", "你告诉过我的话里，我没有找到。"),
    "memories": ("What I was told that you said before:", "我得知你以前说过："),
    "saved": ("I remember from now on: “{}”", "我记住了：“{}”"),
    "files": ("You attached:", "你附上了："),
    "thought": (
        "The user says: “{}”. I look whether the tour has an answer.",
        "用户说：“{}”。我看看导览里有没有答案。",
    ),
    "long": (
        "Line {} of {}: a long answer of the built-in demo model, for you to press Stop or reload the page.",
        "第 {} 行，共 {} 行：这是内置演示模型的长回答，你可以随时按停止，也可以刷新页面，再接着往下读。",
    ),
    "who": (
        "I am the built-in demo model of this gateway, not a language model: I call tools and quote them, "
        "and know no more than a short tour. Try to say:",
        "我是网关内置的演示模型，不是真正的大语言模型：只会调用工具并引用结果，此外只有一个简短的导览。可以试着说：",
    ),
    "demo": (
        "(I am the built-in demo model: I call tools and quote them, I do not reason.)",
        "（我是内置的演示模型：只调用工具并引用结果，不会推理。）",
    ),
    "real": (
        "For a real model set `ANTHROPIC_API_KEY` (or `ANTHROPIC_BASE_URL`) and start the gateway again.",
        "要使用真正的模型，请设置 `ANTHROPIC_API_KEY`（或 `ANTHROPIC_BASE_URL`），然后重新启动网关。",
    ),
}


def report(question: Question) -> str:
    """What the tools gave, quoted, and what the demo is."""
    paragraphs = [_paragraph(result, question) for result in question.results]
    if following := skills.follow(question):
        paragraphs[:1] = [phrase("skill", question, following.name, following.done, following.total)]
    return "\n\n".join([*paragraphs, f"{phrase('demo', question)} {phrase('real', question)}"])


def _paragraph(result: Result, question: Question) -> str:
    if result.is_error:
        return _failure(result, question)
    match result.name, result.arguments.get("action"):
        case "calculate", _:
            return f"{result.arguments.get('expression', '')} = **{shortened(result.text, 200)}**"
        case "manage_memory", "save":
            return phrase("saved", question, result.arguments.get("content"))
        case "read_archive", _:
            statements = [each for each in sentences(result.text) if not is_question(each)]
            found = closest(question.text, statements)
            return phrase("said", question, found) if found else phrase("nothing", question)
        case _:
            return "\n\n".join([phrase("gave", question, result.name), *_quotes(result.text)])


def _failure(result: Result, question: Question) -> str:
    """A call that did not work, or that nobody allowed."""
    what = "denied" if "was not run" in result.content else "failed"
    return phrase(what, question, result.name, shortened(result.content, MAX_QUOTE))


def _quotes(content: str) -> Iterator[str]:
    """A result as Markdown quotations: the numbered entries of a search with their sources, or all of it."""
    if listed := memories_in(content):
        yield "\n".join(f"- {each.text} (`{each.id}`)" for each in listed[:MAX_LISTED])
        return
    heads = list(_ENTRY.finditer(content))[:4]
    if not heads:
        yield _quote(content)
    for head, following in zip(heads[:3], [*heads[1:], None], strict=False):
        yield f"{_quote(content[head.end() : following.start() if following else None])}\n> — {head[1]}"


def _quote(text: str) -> str:
    """The first lines of a passage. Tags and tables are left out, and a code block that was cut is closed."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _MARKUP.match(line.strip())]
    kept = shortened("\n".join(lines[:MAX_QUOTE_LINES]), MAX_QUOTE).splitlines()
    if sum(line.lstrip().startswith("```") for line in kept) % 2:
        kept.append("```")
    return "\n".join(f"> {line}" for line in kept)


def phrase(what: str, question: Question, *values: object) -> str:
    """One of these phrases, in the language of the question."""
    return _WORDS[what][question.language != "english"].format(*values)
