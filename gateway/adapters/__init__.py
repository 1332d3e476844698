"""Dialects of clients that other people have made: the same turns in their words.

A package for each: `NAME_routes.py` has the routes, `NAME_requests.py` reads what they are sent,
`NAME_frames.py` writes; other files are beside these because of their length. The names of the files are
whole, as the operations of `/openapi.json` are called by those of the routes.

Beside the packages is what the dialects share. For all: `turn_fold` with its `turn_parts`, `turn_answer` and
`turn_response`. For clients that
send all of a conversation each time: `client_conversation`, `conversation_turn`, which begins or finds its
turn, and `session_lookup`. The rest is what these need."""
