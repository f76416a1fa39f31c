"""The memory document: a user's memories as one JSON document, read and imported."""
