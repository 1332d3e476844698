"""Parts of artifacts, in bounded memory and as much as a model can read at once.

selector     which part: lines, bytes, a JSON path, or lines with a word in them
chunks       where lines begin, and bytes of any place
line_range   · byte_range · line_search · json_path: one way of reading each
json_path_program  a JSON path on a content, in a process of its own
part         what was read, how much there is in all, and how to go on
"""

from gateway.artifacts.reading.json_path import values_at
from gateway.artifacts.reading.part import MAX_TOKENS, MIN_TOKENS, ContentPart
from gateway.artifacts.reading.reader import read_part
from gateway.artifacts.reading.selector import BEGINNING, Selector, selector_of

__all__ = [
    "BEGINNING",
    "MAX_TOKENS",
    "MIN_TOKENS",
    "ContentPart",
    "Selector",
    "read_part",
    "selector_of",
    "values_at",
]
