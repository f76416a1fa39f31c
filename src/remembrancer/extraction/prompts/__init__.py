"""Prompts: Jinja files, and the types of their answers."""
