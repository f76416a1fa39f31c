"""How a user's memory is shared between their agents: policy, preferences and what follows."""
