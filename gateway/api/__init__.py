"""The HTTP API. The files `…_routes` declare its endpoints, url_table.py lists these files."""
