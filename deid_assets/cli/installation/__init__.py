"""Commands that run an installation."""
