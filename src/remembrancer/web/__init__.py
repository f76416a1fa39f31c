"""Web pages for users and admins: server-rendered, usable without scripts."""

from remembrancer.web.routes import router

__all__ = ["router"]
