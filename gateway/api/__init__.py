"""The HTTP API. routes.py is the URL table."""
