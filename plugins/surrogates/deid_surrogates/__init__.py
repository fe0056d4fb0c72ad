"""Surrogates: believable other values for names, places, numbers and addresses, drawn from a key,
with locale packs.
"""
