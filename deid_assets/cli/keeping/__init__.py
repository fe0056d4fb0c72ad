"""Commands on secrets and lists."""
