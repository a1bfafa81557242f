"""The stages of a project: what each reads, makes and waits for."""
