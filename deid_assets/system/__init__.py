"""What every part may need of the operating system: digests of files, and interrupts."""
