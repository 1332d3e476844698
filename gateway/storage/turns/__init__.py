"""Turns, who owns them, and what came with their messages, in SQL."""
