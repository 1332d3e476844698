"""The kind of a content: by its first bytes, by a declared type where the bytes agree, and by its text."""

from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.kind import kind_of

__all__ = ["image_size", "kind_of"]
