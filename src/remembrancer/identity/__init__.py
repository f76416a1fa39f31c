"""One person across platforms: links, merges, and taking them back."""
