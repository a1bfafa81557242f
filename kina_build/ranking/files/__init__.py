"""Files that a ranking reads and writes: scores, items, published figures, records for others."""
