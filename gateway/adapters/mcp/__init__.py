"""MCP servers: a gateway with its tool `chat`, or the memory alone; over HTTP and the standard streams."""
