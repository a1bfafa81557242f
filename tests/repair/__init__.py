"""Tests of the room that doubts and mends."""
