"""What a turn is given of the memories, and whether the answer to its question is there."""
