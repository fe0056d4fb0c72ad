"""Reference data that the note generator, the policies and detectors share.

Lists of a language, and check digits.
"""
