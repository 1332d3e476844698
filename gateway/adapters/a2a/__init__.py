"""The Agent2Agent protocol: a turn as a task, called by JSON-RPC."""
