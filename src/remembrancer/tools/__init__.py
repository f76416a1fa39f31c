"""Tools for language models: what an agent calls to remember and to recall."""
