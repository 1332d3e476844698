"""What the model is told: component files, their assembly, and where the provider may cache."""
