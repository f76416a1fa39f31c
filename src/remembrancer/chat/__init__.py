"""``/memory`` in a chat: users manage their own memory, without the agent."""
