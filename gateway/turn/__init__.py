"""One turn, from accepted to finished. Start with run.py."""
