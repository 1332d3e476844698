"""Documented memories: files in a folder that are recalled together with what was remembered at run time."""
