"""Encryption at rest: keys of the operator's, of which the first encrypts and all decrypt."""
