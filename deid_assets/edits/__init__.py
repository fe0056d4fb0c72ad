"""What redaction did to each note, kept without text.

To carry annotations over, to fill tags, to compare releases.
"""
