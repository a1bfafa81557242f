"""Two items side by side: what their letters say, how they differ, and what that makes of them."""
