"""Associations: memories linked to each other, and walks along the links."""
