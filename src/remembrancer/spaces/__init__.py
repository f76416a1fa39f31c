"""Spaces: subjects about which several users share facts."""
