"""Texts to unit vectors: encoders by name, and vectors that are kept."""
