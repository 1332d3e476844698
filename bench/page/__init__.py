"""The page in a browser: how soon it is there, and how long its frames are."""
