"""The memory document: what is remembered of a user as one JSON document, read and imported."""
