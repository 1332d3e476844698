"""The abilities of the model: functions, written procedures and tools of MCP servers, in one catalog."""
