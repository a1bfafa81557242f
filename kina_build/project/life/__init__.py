"""The life of each item: what every artefact says of it, kept so that one item is looked up at once."""
