"""Selection under quotas and conflicts, and the certificate of how good it is."""
