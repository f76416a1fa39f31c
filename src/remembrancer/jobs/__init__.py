"""Background jobs: queued in the transaction that needs them, run by a worker."""
