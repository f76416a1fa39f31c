"""API keys: who may talk to the server, and as what."""
