"""How a project starts: what files are, and the kina.toml that says so."""
