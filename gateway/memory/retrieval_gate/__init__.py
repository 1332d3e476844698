"""Whether a message needs memories, and which."""
