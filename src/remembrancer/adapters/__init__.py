"""Memory for agents of other frameworks: one module each, none of which loads another's."""
