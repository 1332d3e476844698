"""What is remembered across sessions: kept, found again with reasons, corrected and forgotten."""
