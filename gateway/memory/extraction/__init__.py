"""Learning: from a conversation or a tool's suggestion to checked memories."""
