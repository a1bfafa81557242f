"""Support: how much each item shows of each expert anchor."""
