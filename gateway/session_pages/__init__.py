"""A session as something to read: words for its events, HTML, Markdown. Pure: no I/O."""
