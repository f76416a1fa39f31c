"""Programs that measure recall quality and speed. Never imported by the package."""
