"""The auditor: a ledger derived again by code of its own."""
