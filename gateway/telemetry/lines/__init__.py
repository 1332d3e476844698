"""Log lines: those of turns, and their form."""
