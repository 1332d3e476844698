"""Anthropic's Messages API: a turn as a message."""
