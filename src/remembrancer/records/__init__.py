"""Records: memories that a program keeps, each under an address of its own."""
