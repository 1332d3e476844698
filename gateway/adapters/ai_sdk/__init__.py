"""The AI SDK's `useChat`: a turn as a UI message stream."""
