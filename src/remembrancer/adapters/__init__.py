"""Memory for agents of other frameworks, one independent module each."""
