"""Reference data that the note generator, the policies and detectors share: lists of a language, and check digits."""
