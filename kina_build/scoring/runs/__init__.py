"""Asking models: how questions are put, which calls that takes, whom they go to."""
