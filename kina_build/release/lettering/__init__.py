"""The letters of the options: in which order they stand, and how even the right ones are."""
