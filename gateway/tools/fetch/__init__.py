"""The tool that fetches public web pages, and the guard that keeps it on the public web."""
