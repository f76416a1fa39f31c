"""How long rows are stored: removal of old ones in small batches, or a count of them."""
