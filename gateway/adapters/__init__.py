"""Dialects of clients that other people have made: the same turns in their words.

`NAME_routes.py` has the routes, `NAME_requests.py` reads what they are sent, `NAME_frames.py` writes; other
files of that name are beside these because of their length. `responses_…` is OpenAI's second API. Of MCP,
`mcp_chat`, `mcp_server` (the memory) and `mcp_resources` are what is offered, `mcp_gateway` offers all of it
over HTTP and `mcp_forwarding` over the standard streams.

What they share: `parts` and `answering`; `conversation`, `asking` and `history_places` for clients that send
all of a conversation each time; and the rest, which these need."""
