"""Items of a pool that stand in other corpora."""
