"""Memory for AI agents: who said what, recalled only for whom it may be."""
