"""Places: memories with a place id, which count their mentions."""
