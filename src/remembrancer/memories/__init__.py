"""Memories with their versions and mentions."""
