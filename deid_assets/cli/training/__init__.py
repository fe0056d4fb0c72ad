"""Commands that train taggers."""
