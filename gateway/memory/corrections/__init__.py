"""Corrections and merges of memories, with their effect on dependent memories."""
