"""The recruitment exam: its draw, its key, its marks."""
