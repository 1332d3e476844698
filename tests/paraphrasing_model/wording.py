"""How real models write: in words of their own, with a sentence before their JSON, fences around it, and
typographic signs where the text they read had plain ones. Deterministic."""

import json
import re
from typing import Any

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_SENTENCE = re.compile(r"(?<=[。！？；])|(?<=[.!?])(?=\s)|\n")
_WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(?:please )?remember(?: that)?[:,]?\s+", ""),
    (r"\bI(?:'|’)m\b|\bI am\b", "the user is"),
    (r"\bI(?:'|’)ve\b|\bI have\b", "the user has"),
    (r"\bI (like|love|prefer|need|want|live|work|hate|use|take)\b", r"the user \1s"),
    (r"\bI\b|\bme\b", "the user"),
    (r"\bmy\b|\bmine\b", "their"),
    (r"\bour\b|\bours\b", "the team's"),
    (r"\bwe\b|\bus\b", "the team"),
    (r"请?[记記][住得][，,：: ]*", ""),
    (r"我最?喜[欢歡]", "用户偏好"),
    (r"我们", "用户的团队"),
    (r"我", "用户"),
)
_PARAPHRASES = [(re.compile(words, re.IGNORECASE), other) for words, other in _WORDS]


def is_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def paraphrase(text: str) -> str:
    """What a user said, told of the user: the same facts, numbers and names in other words."""
    for words, other in _PARAPHRASES:
        text = words.sub(other, text)
    text = text.strip()
    return typographic(text[:1].upper() + text[1:])


def cited(text: str) -> str:
    """A quotation as models give one: the same words, never the same characters."""
    quoted = typographic(" ".join(text.split()))
    end = "。" if is_chinese(quoted) else "."
    return quoted.rstrip(end) if quoted.endswith(end) else quoted + end


def typographic(text: str) -> str:
    """Curly quotation marks and apostrophes; in Chinese text full-width commas, colons and brackets too."""
    text = re.sub(r'"([^"\n]*)"', r"“\1”", text)
    text = re.sub(r"(?<=\w)'(?=\w)", "’", text)
    if is_chinese(text):
        text = re.sub(r"\s*([,:;?!()])\s*(?!\d)", lambda sign: chr(ord(sign[1]) + 0xFEE0), text)
    return text


def fenced(value: Any, *, chinese: bool) -> str:
    """JSON as models hand it over however plainly they are asked for nothing else."""
    lead = "好的，结果如下：" if chinese else "Sure, here’s what I found:"
    return f"{lead}\n\n```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"


def before_a_call(*, chinese: bool) -> str:
    return "我先查一下。" if chinese else "Let me take care of that."
