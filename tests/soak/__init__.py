"""The long run outside the gate: kina's files damaged in every way, and every command that reads them."""
