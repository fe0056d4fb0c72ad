"""What trained taggers get wrong, and what their vectors say."""
