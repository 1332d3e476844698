"""Adapters for clients that speak another protocol than the HTTP API: the memory over MCP."""
