"""What a person may take with them, and what is deleted for good."""
