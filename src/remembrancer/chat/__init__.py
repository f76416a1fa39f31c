"""``/memory`` in a chat: people look after their own memory, without the agent."""
