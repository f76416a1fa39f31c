"""What a person looks up in their memory: answers with their origin, what is new, a search."""
