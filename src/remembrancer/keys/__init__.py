"""API keys, and audit lines for sign-ins."""
