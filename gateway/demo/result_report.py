"""What the tools gave, quoted with its sources."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from gateway.demo import skill_steps as skills
from gateway.demo.phrases import phrase
from gateway.demo.question import DemoPrompt, Result, closest, is_question, memories_in, sentences
from gateway.messages import shortened

MAX_QUOTE, MAX_QUOTE_LINES = 500, 8
WRAPPED = 60
"""Characters of a line of prose that goes on in the next one: its writer wrapped it."""
SOURCE = "— "
MAX_LISTED = 20
"""Files, memories and passages that one answer names."""
_ENTRY = re.compile(r"^\[\d+\] (.+)$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6} ")
_BLOCK = re.compile(r"\s*(?:#{1,6} |[-*+] |\d+[.)] |>|```)")
"""What begins a block of Markdown."""
_BLANK_LINES = re.compile(r"\n{3,}")
_MARKUP = re.compile(r"</?[a-z_]++[^>]*+>$|<!--|\|")


def report(question: DemoPrompt) -> str:
    """What the tools gave, quoted, and what the demo is."""
    paragraphs = [_paragraph(result, question) for result in question.results]
    if following := skills.follow(question):
        paragraphs[:1] = [phrase("skill", question, following.name, following.done, following.total)]
    return "\n\n".join([*paragraphs, f"{phrase('demo', question)} {phrase('real', question)}"])


def _paragraph(result: Result, question: DemoPrompt) -> str:
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


def _failure(result: Result, question: DemoPrompt) -> str:
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
        yield _quote(content[head.end() : following.start() if following else None], f"{SOURCE}{head[1]}")


def _quote(text: str, *source: str) -> str:
    """The first lines of a passage, and where it stands. Tags and tables are left out, and a code block that
    was cut is closed, or left out where nothing of it is quoted."""
    lines = [line.rstrip() for line in text.splitlines() if not _MARKUP.match(line.strip())]
    passage = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")
    kept = shortened("\n".join(passage.split("\n")[:MAX_QUOTE_LINES]), MAX_QUOTE).splitlines()
    if sum(line.lstrip().startswith("```") for line in kept) % 2:
        kept[-1:] = [] if kept[-1].lstrip().startswith("```") else [kept[-1], "```"]
    return "\n".join(_quoted([*kept, *source]))


def _quoted(lines: Sequence[str]) -> Iterator[str]:
    """Each line as a line of its own, which in Markdown two blanks at the end of one make of the next; a
    wrapped one goes on."""
    is_code = False
    begun = ""
    for line, following in zip_longest(lines, lines[1:]):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        is_prose = bool(line) and not (is_code or is_fence or _HEADING.match(line))
        is_followed = bool(following) and not _BLOCK.match(following or "")
        is_wrapped = is_prose and is_followed and len(line) >= WRAPPED and not following.startswith(SOURCE)
        begun = f"{begun} {line.lstrip()}" if begun else line
        if not is_wrapped:
            yield f"> {begun}  " if is_prose and is_followed else f"> {begun}".rstrip()
            begun = ""
