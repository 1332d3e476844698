"""Spans, metrics and log lines: one reader of the event log among others."""
