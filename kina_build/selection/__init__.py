"""Selection: the items that cover the anchors best, and a certificate a stranger can check."""
