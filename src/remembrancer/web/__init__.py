"""Pages for a person: server-rendered, no script."""
