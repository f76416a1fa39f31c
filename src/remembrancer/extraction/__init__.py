"""Summaries and facts of messages outside of a conversation's window."""
