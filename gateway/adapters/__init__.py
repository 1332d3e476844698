"""Dialects of clients that other people have made: the same turns in their words; and the memory over MCP.

`…_routes.py` has the routes, `…_requests.py` reads what they are sent, `…_frames.py` writes. What they
share: `conversation` and `asking` for clients that send all of it each time, with `history_places`; `parts`
and `answering`, and the rest, which these need."""
