"""Memories: statements worth keeping, with versions and mentions."""
