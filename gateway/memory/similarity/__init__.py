"""Whether two texts have the same meaning or contradict each other, by their words alone."""
