"""What other harnesses wrote of their runs, read into one form: a score a model, item and epoch."""
