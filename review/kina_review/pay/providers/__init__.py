"""Payment providers: their files, their lists, and what these change in the ledger."""
