"""Work that is done later: queued with the change that calls for it, run by a worker."""
