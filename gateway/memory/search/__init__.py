"""Finds memories by words and, where an embeddings API is configured, by meaning."""
