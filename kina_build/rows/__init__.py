"""What comes in: bytes read once, strict JSON, known kinds of files."""
