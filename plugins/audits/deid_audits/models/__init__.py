"""Attacks on language models of notes: membership, extraction, canaries, slot filling.

Importing this loads no PyTorch.
"""
