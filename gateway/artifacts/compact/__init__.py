"""What is told of a content in place of itself, without a model: compact.py is where to begin."""

from gateway.artifacts.compact.base import Compact
from gateway.artifacts.compact.compact import compact_of

__all__ = ["Compact", "compact_of"]
