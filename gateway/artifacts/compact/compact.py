"""The compact form of a content: which form for which kind, and examples of what can be asked of it."""

from collections.abc import Callable, Mapping

from gateway.artifacts.compact.base import Compact
from gateway.artifacts.compact.code import code_form
from gateway.artifacts.compact.json_shape import json_form
from gateway.artifacts.compact.log import log_form
from gateway.artifacts.compact.markdown import markdown_form
from gateway.artifacts.compact.media import binary_form, image_form, pdf_form
from gateway.artifacts.compact.table import table_form
from gateway.artifacts.compact.text import text_form
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.storage.artifacts import TEXTS, Kind

_FORMS: Mapping[Kind, Callable[[ArtifactContent, Measured], Compact]] = {
    "text": text_form,
    "json": json_form,
    "csv": table_form,
    "markdown": markdown_form,
    "code": code_form,
    "log": log_form,
    "image": image_form,
    "pdf": pdf_form,
    "binary": binary_form,
}
_LINES = 50  # of the example
_BYTES = 1000


def compact_of(content: ArtifactContent, measured: Measured, kind: Kind) -> Compact:
    """The compact form of a content: the same for the same bytes, name and kind, at most some
    300 tokens. Blocks for a time linear in the size, at most a chunk and a small JSON being in memory: run it
    in a thread."""
    form = _FORMS[kind](content, measured)
    examples: dict[str, str] = {}
    if kind in TEXTS and measured.lines and measured.lines > 1:
        examples["lines"] = f"1-{min(measured.lines, _LINES)}"
    if measured.size:
        examples["bytes"] = f"0-{min(measured.size, _BYTES) - 1}"
    examples |= form.examples
    word = examples.get("search")
    if word is not None and word.encode() not in measured.head + measured.tail:
        del examples["search"]
    return Compact(form.text, examples)
