"""Build, certify, release and score knowledge benchmarks for language models."""

__version__ = "0.1.0"
