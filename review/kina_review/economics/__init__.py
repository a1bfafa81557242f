"""A room of the review side."""
