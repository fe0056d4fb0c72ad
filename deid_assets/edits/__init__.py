"""What redaction did to each note, kept without text: to carry annotations over, to fill tags, to compare releases."""
