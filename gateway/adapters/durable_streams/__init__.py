"""Durable Streams: a session as a stream to read, its events as they are."""
