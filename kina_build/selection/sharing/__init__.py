"""Who gets how many places: shares of a total, draws, bins of difficulty."""
