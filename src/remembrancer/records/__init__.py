"""Records: memories that a program reads and writes by address."""
