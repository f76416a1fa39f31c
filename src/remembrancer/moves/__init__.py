"""Moves: an agent's memories of a user go from one scope to the other."""
