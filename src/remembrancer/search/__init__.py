"""Search items: texts with vectors and postings, and the embedding model."""
