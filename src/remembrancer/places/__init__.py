"""Places somebody cares about: memories that are known by a place id and counted by mention."""
