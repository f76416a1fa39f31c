"""What may not be stored: secrets, numbers of cards, people and accounts; and instructions."""
