"""Spans: what is traced, and the way to a collector."""
