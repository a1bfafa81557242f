"""A selection beside random sets of its size: what it covers more, and whether the items still tell."""
