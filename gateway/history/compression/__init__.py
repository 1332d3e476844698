"""Older messages make way for a summary; nothing is lost. compressor.py is where to begin."""
