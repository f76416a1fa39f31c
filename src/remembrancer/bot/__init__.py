"""What a bot calls: remember, recall, and a turn of a chat in one call."""
