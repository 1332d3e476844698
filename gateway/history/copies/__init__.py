"""Whole sessions as files: export.py writes them, imports.py reads them and trusts nothing."""
