"""What operators see: spans with their durations, traces, log lines and ids. Never content."""
