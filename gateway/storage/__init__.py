"""The contracts of storage. Every implementation passes tests/contracts/.

All methods raise `errors.StorageError` when the database cannot do its work (locked, full, gone), and nothing
half-done is left behind. Owners are user ids; a row of another owner is as absent as one that never was.
"""
