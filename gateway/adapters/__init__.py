"""Dialects of clients that other people have made: the same turns in their words.

A package for each: `NAME_routes.py` has the routes, `NAME_requests.py` reads what they are sent, `NAME_frames.py`
writes; other files are beside these because of their length. The names of the files are whole, as the routes'
are in the operations of `/openapi.json`.

What the dialects share is beside the packages: `parts` and `answering`; `conversation`, `asking` and
`history_places` for clients that send all of a conversation each time; and the rest, which these need."""
