"""AG-UI: a turn as a run, for CopilotKit and other clients of the protocol."""
