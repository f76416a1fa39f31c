"""Agents, and the memory scope in effect for a user with one of them."""
