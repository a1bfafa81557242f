"""Tests, laid out as the modules they test."""
