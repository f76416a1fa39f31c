"""The audit log: /api/audit."""

from typing import Annotated

from fastapi import APIRouter, Query

from remembrancer.api.dependencies import App, Authenticated, narrowed
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.paging import Page

router = APIRouter(prefix="/api/audit", tags=["audit"])


class AuditQuery(AuditFilter):
    """Which lines, and which page of them."""

    limit: Annotated[int, Query(ge=1, le=200)] = 50
    cursor: Annotated[str | None, Query(max_length=1000)] = None


@router.get("")
async def read_audit_log(
    app: App, actor: Authenticated, query: Annotated[AuditQuery, Query()]
) -> Page[AuditLine]:
    """Say who read or changed which ids of whom: all for admins, for a user their own.

    A service names the user it acts for as `user_id`. An admin's look is a line itself.
    """
    filters = narrowed(query, AuditFilter)
    return await app.audit.list(actor, filters, limit=query.limit, cursor=query.cursor)
