"""A person's whole memory as a file, in several formats, and back."""
