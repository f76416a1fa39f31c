"""Recall: what is known that helps here, ranked."""
