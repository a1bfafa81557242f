"""Ranking: intervals, rank sets and ties, as pure functions over score matrices."""
