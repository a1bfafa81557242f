"""Scoring: model runs, letters, universes and triples."""
