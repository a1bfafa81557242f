"""Timed comparisons with peers, and runs over public corpora; never part of the tests."""
