"""What a content is: by its first bytes, by what is declared where the bytes agree, and by how it reads."""

from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.kind import kind_of

__all__ = ["image_size", "kind_of"]
