"""``deid serve``: a page and a small REST service over the pipeline of every other door."""
