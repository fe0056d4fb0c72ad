"""Feeds: notes that are taken from databases and object stores, and land as batches.

``running`` takes what is new, changed or deleted. ``source`` is what a kind of feed has to give;
``sql`` and ``objects`` are the kinds that need no plugin.
"""
