"""What arrived: the signed list of its files, how they are read, and what became of each batch."""
