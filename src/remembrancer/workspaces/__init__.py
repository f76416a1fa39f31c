"""Workspaces: tenants of one host, each whole in a database of its own."""
