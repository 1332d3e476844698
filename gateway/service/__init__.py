"""The operations that all entry points call."""
