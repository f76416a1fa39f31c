"""Erasure for good, with receipts."""
