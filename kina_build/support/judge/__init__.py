"""Ratings of item-anchor pairs by language models and people, and the support they make."""
