"""Facts: memories in a space, private to their author until shared."""
