"""Search: query terms, relevance, vectors, ranking."""
