"""The form of code: its functions and classes. One regular expression for each language finds them in
linear time: every repetition is bounded or ends at a sign that it cannot contain."""

import re
from collections.abc import Mapping

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, flat, listed
from gateway.artifacts.compact.line_stretches import found, scope
from gateway.artifacts.compact.text import text_form, word_of
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.artifacts.kinds.kind import plain_mime
from gateway.artifacts.kinds.languages import language_of
from gateway.artifacts.kinds.tables import head_text

_N = r"[\w$\x80-\xff]{1,80}"
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|virtual|async|synchronized"
    r"|open|data|suspend|inline|default)[ \t]{1,4})"
)
_PYTHON = rf"(?:async[ \t]+)?(?:def|class)[ \t]+{_N}[^\n]{{0,120}}"
_SCRIPT = (
    r"(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?"
    rf"(?:(?:function|class|interface|enum|namespace)[ \t*]+{_N}[^\n{{]{{0,120}}"
    rf"|type[ \t]+{_N}(?=[^\n=]{{0,80}}=)"
    rf"|(?:const|let|var)[ \t]+{_N}[ \t]{{0,4}}=[ \t]{{0,4}}(?:async[ \t]+)?"
    rf"(?:function\b|\([^\n()]{{0,120}}\)[^\n=]{{0,60}}=>|{_N}[ \t]{{0,4}}=>))"
)
_GO = (
    rf"(?:func[ \t]+(?:\([^\n)]{{0,80}}\)[ \t]*)?{_N}[^\n{{]{{0,120}}"
    rf"|type[ \t]+{_N}[ \t]+(?:struct|interface))"
)
_RUST = (
    r"(?:pub(?:\([^\n)]{0,30}\))?[ \t]+)?(?:(?:async|unsafe|const|default)[ \t]+){0,3}"
    rf"(?:(?:fn|struct|enum|trait|mod|union)[ \t]+{_N}[^\n{{;]{{0,120}}|impl\b[^\n{{]{{0,120}})"
)
_JAVA = (
    rf"(?:{_MODIFIERS}{{0,5}}(?:class|interface|enum|record|object|struct|namespace|fun)[ \t]{{1,4}}{_N}"
    r"[^\n{]{0,120}"
    rf"|{_MODIFIERS}{{1,5}}[\w<>\[\],.?$\x80-\xff]{{1,80}}[ \t]{{1,4}}{_N}[ \t]{{0,4}}\([^\n{{;]{{0,120}})"
)
_C = (
    rf"(?:(?:typedef[ \t]+)?(?:struct|class|enum|union|namespace)[ \t]+{_N}[^\n{{;]{{0,80}}"
    r"|(?!(?:if|for|while|switch|return|else|do)\b)[A-Za-z_][^\n;=(#]{1,120}\([^\n;]{0,200}$)"
)
_HTML = r"<(?:title|h[1-3])\b[^\n>]{0,200}>[^\n<]{1,200}"
_SQL = r"(?i:create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:table|view|function|procedure|index)[^\n(]{1,120})"
_PHP = rf"{_MODIFIERS}{{0,4}}(?:function|class|interface|trait)[ \t]+{_N}[^\n{{]{{0,120}}"
_RUBY = r"(?:def|class|module)[ \t]+[^\n;]{1,120}"
_SWIFT = rf"{_MODIFIERS}{{0,4}}(?:func|class|struct|enum|protocol|extension)[ \t]+{_N}[^\n{{]{{0,120}}"
_SHELL = rf"(?:function[ \t]+{_N}|{_N}[ \t]{{0,4}}\(\))"


def _per_line(pattern: str, indent: int = 24) -> re.Pattern[bytes]:
    return re.compile(rf"^[ \t]{{0,{indent}}}({pattern})".encode("latin-1"), re.MULTILINE)


_PATTERNS: Mapping[str, re.Pattern[bytes]] = {
    "Python": _per_line(_PYTHON),
    "JavaScript": _per_line(_SCRIPT, 8),
    "TypeScript": _per_line(_SCRIPT, 8),
    "Go": _per_line(_GO, 0),
    "Rust": _per_line(_RUST),
    "Java": _per_line(_JAVA),
    "Kotlin": _per_line(_JAVA),
    "C#": _per_line(_JAVA),
    "C": _per_line(_C, 0),
    "C++": _per_line(_C, 0),
    "PHP": _per_line(_PHP),
    "Ruby": _per_line(_RUBY),
    "Swift": _per_line(_SWIFT),
    "shell": _per_line(_SHELL, 0),
    "SQL": _per_line(_SQL),
    "HTML": _per_line(_HTML, 80),
}
_MAX_SYMBOLS = 60  # that are kept
_TOKENS = 30  # of one


def code_form(content: ArtifactContent, measured: Measured) -> Compact:
    """The functions and classes with their lines; like text where there are none."""
    language = language_of(content.name, plain_mime(content.mime), head_text(measured)) or "Code"
    pattern = _PATTERNS.get(language)
    parts: list[str] = []
    count = 0
    for number, match in found(content, pattern) if pattern else ():
        count += 1
        if len(parts) < _MAX_SYMBOLS:
            parts.append(f"{number}: {flat(match[1].decode('utf-8', 'ignore').rstrip(' {:('), _TOKENS)}")
    title = f"{language}, {counted(measured.lines or 0, 'line')}"
    if not parts:
        return text_form(content, measured, title)
    title = f"{title}, {counted(count, 'definition')}{scope(measured)}"
    lines = [title, *listed(parts, count, "definitions", MAX_TOKENS - 40)]
    word = word_of(parts[0].split("(")[0])
    return Compact("\n".join(lines), {"search": word} if word else {})
