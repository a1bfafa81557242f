"""Release: splits, gates, cards and the files that harnesses load."""
