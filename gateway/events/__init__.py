"""What can be said about a turn: a closed union, one small file per family."""
