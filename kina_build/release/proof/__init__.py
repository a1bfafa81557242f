"""The proof of a release: the evidence that travels with it, and the check of all that it says."""
