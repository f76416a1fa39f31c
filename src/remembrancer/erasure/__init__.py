"""Erasure for good, with receipts, and exports of a user's data."""
