"""OpenAI's two APIs: chat completions (`openai_…`, with the adapter) and responses (`responses_…`)."""
