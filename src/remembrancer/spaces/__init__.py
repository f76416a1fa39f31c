"""Spaces: a subject that several users keep facts about."""
