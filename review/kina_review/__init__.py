"""Assign, settle, audit and pay the reviewers of a knowledge benchmark."""
