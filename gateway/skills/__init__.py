"""What the model can do: functions, written procedures and tools of MCP servers, in one catalog."""
