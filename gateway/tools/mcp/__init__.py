"""MCP servers as a source of tools. What names the SDK here is imported only when a server is configured."""
