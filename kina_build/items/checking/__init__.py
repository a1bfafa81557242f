"""Check: the rules that items are held to, by theme, and the run over a pool."""
