"""What an agent is told: memory as text for a prompt, within a budget of tokens."""
