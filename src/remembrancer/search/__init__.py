"""Making texts searchable: vectors and postings, and the model they come from."""
