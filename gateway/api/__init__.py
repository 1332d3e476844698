"""The HTTP door. routes.py is the URL table."""
