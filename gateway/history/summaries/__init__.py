"""What is worth knowing of a session: summary.py says what that is, summariser.py how a model writes it."""
