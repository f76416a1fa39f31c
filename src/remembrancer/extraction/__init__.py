"""What is made of conversations: summaries of what has left the window."""
