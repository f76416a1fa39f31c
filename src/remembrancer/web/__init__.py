"""Pages for a person: server-rendered, useful without a script."""

from remembrancer.web.routes import router

__all__ = ["router"]
