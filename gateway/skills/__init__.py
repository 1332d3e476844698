"""What the model's abilities are: functions, written procedures and tools of MCP servers, in one catalog."""
