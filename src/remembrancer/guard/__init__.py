"""The guard: find secrets, card and account numbers, national ids, and orders to agents."""
