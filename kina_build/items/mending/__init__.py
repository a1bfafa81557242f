"""Mending: patches of items, and the repairs that propose them without judgment."""
