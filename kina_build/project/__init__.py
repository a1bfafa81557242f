"""Project: one file that says what a benchmark is made of, and the graph of commands that makes it."""
