"""People: one canonical user, whatever platform they speak from."""
