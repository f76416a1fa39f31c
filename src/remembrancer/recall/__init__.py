"""Recall: ranked memories, messages and chunks for a question."""
