"""SQLite files as files: which one it is, a copy of it, whether it is sound, and what it fails with."""
