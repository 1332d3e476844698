"""Compact forms: descriptions that stand for a content, made without a model. Begin with compact.py."""

from gateway.artifacts.compact.base import Compact
from gateway.artifacts.compact.compact import compact_of

__all__ = ["Compact", "compact_of"]
