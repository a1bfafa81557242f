"""Near-duplicates and contamination: vectors, neighbours, evidence, decisions."""
