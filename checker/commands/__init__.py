"""Commands with much to say of their own, one in each file."""
