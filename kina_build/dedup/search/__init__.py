"""Close vectors and equal letters: which pairs are worth comparing, found at scale."""
