"""API keys; sessions of browsers, sign-in links, and their audit lines."""
