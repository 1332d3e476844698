"""What the gateway keeps, subject by subject. tests/contracts/ holds each to its docs, on every engine.

All methods raise `errors.StorageError` when the database cannot do its work (locked, full, gone), and nothing
half-done is left behind. Owners are user ids; a row of another owner is as absent as one that never was.
"""
