"""Items: what a question is, how it is read, and what is wrong with it."""
