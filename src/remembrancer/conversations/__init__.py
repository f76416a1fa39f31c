"""Conversations and the messages in them."""
