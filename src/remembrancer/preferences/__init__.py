"""The scope of a user's memories with each agent: policy, preferences and effective scopes."""
