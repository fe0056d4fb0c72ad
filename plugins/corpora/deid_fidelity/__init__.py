"""How like the real notes synthetic ones are, and whether they rank detectors as these do."""
