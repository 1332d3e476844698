"""Which language a text is written in for machines, by its name or its declared mime type."""

from pathlib import PurePosixPath

_BY_SUFFIX = {
    "Python": ".py .pyi",
    "JavaScript": ".js .mjs .cjs .jsx",
    "TypeScript": ".ts .tsx .mts .cts",
    "Go": ".go",
    "Rust": ".rs",
    "Java": ".java",
    "Kotlin": ".kt .kts",
    "C#": ".cs",
    "C": ".c .h",
    "C++": ".cc .cpp .cxx .hh .hpp .hxx",
    "PHP": ".php",
    "Ruby": ".rb",
    "Swift": ".swift",
    "shell": ".sh .bash .zsh",
    "SQL": ".sql",
    "HTML": ".html .htm .xhtml",
    "SVG": ".svg",
    "XML": ".xml .xsd .xsl",
    "CSS": ".css .scss .less",
    "YAML": ".yaml .yml",
    "TOML": ".toml",
}
_LANGUAGES = {suffix: language for language, suffixes in _BY_SUFFIX.items() for suffix in suffixes.split()}
_MIMES = {
    "text/x-python": "Python",
    "text/javascript": "JavaScript",
    "application/javascript": "JavaScript",
    "application/typescript": "TypeScript",
    "text/x-go": "Go",
    "text/x-rust": "Rust",
    "text/x-java": "Java",
    "text/x-c": "C",
    "text/x-c++": "C++",
    "text/x-sh": "shell",
    "application/x-sh": "shell",
    "application/sql": "SQL",
    "text/html": "HTML",
    "application/xhtml+xml": "HTML",
    "image/svg+xml": "SVG",
    "text/xml": "XML",
    "application/xml": "XML",
    "text/css": "CSS",
    "application/yaml": "YAML",
    "application/toml": "TOML",
}
_BEGINNINGS = {"<!doctype html": "HTML", "<html": "HTML", "<svg": "SVG", "<?xml": "XML", "#!": "shell"}


def suffix_of(name: str | None) -> str:
    """The last suffix of a file's name with its dot, in lower case; "" where there is none."""
    return PurePosixPath(name or "").suffix.lower()


def language_of(name: str | None, mime: str | None, text: str) -> str | None:
    """The language of a code: by its name, by its mime type, which is a plain one, by how `text` begins."""
    begins = text[:100].lstrip().lower()
    by_beginning = (language for sign, language in _BEGINNINGS.items() if begins.startswith(sign))
    return _LANGUAGES.get(suffix_of(name)) or _MIMES.get(mime or "") or next(by_beginning, None)
