"""``deid review``: a queue of what is doubtful, a page to decide on it, and the way back."""
