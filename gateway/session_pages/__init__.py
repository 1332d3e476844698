"""A session as something to read: words for its events, a page, Markdown. No I/O, but to load what is built
of the page."""
