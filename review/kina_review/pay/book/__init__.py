"""The ledger: its lines, its file, its seal."""
