"""Whether two memories say the same, or the contrary: by their words alone."""
