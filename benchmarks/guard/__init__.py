"""What the guard finds of what it should find, and what it finds in vain."""
