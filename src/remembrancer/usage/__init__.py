"""Usage: how much each agent does in a day, and the size of the database."""
