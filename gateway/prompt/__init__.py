"""The prompt: component files, their assembly, and where the provider may cache."""
