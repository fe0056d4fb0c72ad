"""What protection costs: models by versions of the notes by tasks by folds."""
