"""The library and its client have the same nouns, verbs and arguments."""
