"""What ``doctor`` says of workspaces and of the servers that hold them."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

from remembrancer.app import Remembrancer
from remembrancer.cli.findings import Finding
from remembrancer.cli.runtime import ADMIN
from remembrancer.db.migrate import newest
from remembrancer.errors import RemembrancerError
from remembrancer.paging import all_items
from remembrancer.workspaces.databases import Server, look
from remembrancer.workspaces.schemas import Workspace


async def host_findings(app: Remembrancer) -> list[Finding]:
    """Check servers and workspaces; nothing within one, or where there are none."""
    if not app.is_default:
        return []
    workspaces = await all_items(partial(app.workspaces.list, ADMIN))
    servers = app.host.servers
    if not workspaces and len(servers.names) == 1:
        return []
    found = await asyncio.gather(*(_server(servers[name]) for name in servers.names))
    return [*found, *_workspaces(workspaces, servers.names)]


async def _server(server: Server) -> Finding:
    subject = f"Server {server.name}"
    try:
        found = await asyncio.to_thread(look, server)
    except RemembrancerError as error:
        return Finding(False, subject, str(error).removeprefix(f"the server {server.name} "))
    needs = []
    if not found.creates:
        needs.append("its owner needs CREATEDB")
    if found.vector is None:
        needs.append("pgvector is not installed")
    if needs:
        return Finding(False, subject, f"no workspace can be created: {'; '.join(needs)}")
    if found.wal_level != "logical":
        needs.append("wal_level = logical")
    if not found.replicates:
        needs.append("an owner with REPLICATION, BYPASSRLS and pg_create_subscription")
    moves = f"to move workspaces it needs {', and '.join(needs)}" if needs else "so are moves"
    return Finding(True, subject, f"Postgres {found.version}; creations are possible, {moves}")


def _workspaces(workspaces: Sequence[Workspace], servers: Sequence[str]) -> list[Finding]:
    states = Counter(each.state for each in workspaces)
    number = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    findings = [Finding(True, "Workspaces", number or "only default")]
    lost = [each.name for each in workspaces if each.server not in servers]
    if lost:
        why = "on servers that the setting workspaces.servers does not have"
        findings.append(Finding(False, "Workspaces", f"{_names(lost)}: {why}"))
    older = [each.name for each in workspaces if each.revision < newest()]
    if older:
        what = "an older schema; to migrate: remembrancer workspaces migrate"
        findings.append(Finding(True, "Workspaces", f"{_names(older)}: {what}"))
    moves = [each.name for each in workspaces if each.move is not None]
    if moves:
        what = "on the way to another server; confirm or undo it in the end"
        findings.append(Finding(True, "Workspaces", f"{_names(moves)}: {what}"))
    return findings


def _names(names: Sequence[str]) -> str:
    first, rest = names[:3], len(names) - 3
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")
