"""Users: one for each person, on all platforms."""
