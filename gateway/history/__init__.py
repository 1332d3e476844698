"""The messages of sessions: their view for the model, compressions, summaries, archives, copies."""
