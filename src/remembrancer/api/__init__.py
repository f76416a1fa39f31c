"""The REST API: HTTP in, services called, HTTP out."""

from remembrancer.api.server import create_app

__all__ = ["create_app"]
