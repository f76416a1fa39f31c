"""Link platform ids to users, merge users, and undo merges."""
