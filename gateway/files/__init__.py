"""Folders that people edit while the gateway runs: their files, read safely and looked at again."""
