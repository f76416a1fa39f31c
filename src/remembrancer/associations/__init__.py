"""Associations: weighted links between memories, and the graph they make."""
