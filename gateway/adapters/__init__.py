"""Dialects of clients that other people have made: the same turns in their words; and the memory over MCP.

`…_routes.py` reads requests, `…_frames.py` writes; `parts`, `answering`, `data_urls` and
`history_places` are what they share."""
