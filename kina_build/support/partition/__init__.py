"""Support of pools larger than memory: one partition of the items at a time."""
