"""The HTTP API. url_table.py is the URL table, the files `…_routes` answer."""
