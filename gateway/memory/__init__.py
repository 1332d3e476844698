"""Memories across sessions: stored, retrieved with reasons, corrected and forgotten."""
