"""The check of a selection that shares no code with the search for it."""
