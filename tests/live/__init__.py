"""Tests against real servers, harnesses and a browser; run by make test-live."""
