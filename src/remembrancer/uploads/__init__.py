"""Exports that people give the pages, until they are imported."""
