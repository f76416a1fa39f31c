"""The audit log: /api/audit."""

from typing import Annotated

from fastapi import Query

from remembrancer.api.dependencies import App, Caller, narrowed
from remembrancer.api.endpoints import Router
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.paging import Page

router = Router(prefix="/api/audit", tags=["audit"])


class AuditQuery(AuditFilter):
    """Filters of the audit log, and the page."""

    limit: Annotated[int, Query(ge=1, le=200)] = 50
    cursor: Annotated[str | None, Query(max_length=1000)] = None


@router.get("")
async def read_audit_log(
    app: App, actor: Caller, query: Annotated[AuditQuery, Query()]
) -> Page[AuditLine]:
    """List who read or changed which ids: all for admins, a user's own for others.

    A service names the user it acts for as `user_id`. Reading by an admin is logged too.
    """
    filters = narrowed(query, AuditFilter)
    return await app.audit.list(actor, filters, limit=query.limit, cursor=query.cursor)
