"""The search in indices and whole numbers: one instance, its sets and its bounds."""
