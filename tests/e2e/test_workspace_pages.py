"""The pages on which a workspace moves to another server."""

from datetime import UTC, datetime

import html_pages
from fastapi import FastAPI
from helpers import ADMIN, Api, rows
from pages import Browser, signed_in
from test_workspace_moves import second, servers
from test_workspaces import host

from remembrancer import Remembrancer
from remembrancer.workspaces.schemas import MoveState, WorkspaceMove

__all__ = ["host", "second", "servers"]  # fixtures

AT = "/admin/workspaces"
STEPS = {
    MoveState.COPYING: ("42% copied to second", {"move", "undo-move"}),
    MoveState.SWITCHING: ("changes over to second", {"move", "undo-move"}),
    MoveState.MOVED: ("moved from main", {"confirm-move", "undo-move", "suspend"}),
    MoveState.RETURNING: ("goes back to main", {"move"}),
    MoveState.ENDING: ("the other copy is being dropped", {"move"}),
}
"""What the list says of each state of a move, and what can be done then."""


def offered(browser: Browser) -> set[str]:
    """What the list offers to do with the workspace, beside its limits."""
    parsed = html_pages.check(browser.page)
    prefix = f"{AT}/tenant/"
    addresses = (button.get("formaction", "") for button in parsed.iter("button"))
    acts = {where.removeprefix(prefix) for where in addresses if where.startswith(prefix)}
    assert "limits" in acts
    return acts - {"limits"}


def note(move: WorkspaceMove | None) -> None:
    rows("UPDATE workspaces SET move = %s", move and move.model_dump_json())


async def move(browser: Browser, server: str) -> str:
    """Move the workspace and go on until it is there."""
    page = await browser.post(f"{AT}/tenant/move", server=server)
    while "look again in a while" in page:
        page = await browser.post(f"{AT}/tenant/move", server=server)
    return page


async def test_an_admin_of_the_host_moves_a_workspace_in_the_pages(
    servers: Remembrancer, app: FastAPI, api: Api
) -> None:
    """Moved, taken back, moved again and confirmed; each refusal is said."""
    browser = await signed_in(app, api.admin["Authorization"].removeprefix("Bearer "))
    await servers.workspaces.create(ADMIN, "tenant")
    await browser.get(AT)
    assert offered(browser) == {"suspend", "move"}
    page = await browser.post(f"{AT}/tenant/move")
    assert "Move tenant to another server" in page
    [select] = [each for each in html_pages.check(page).iter("select") if each.get("id") == "to"]
    assert [option.text for option in select] == ["second"]
    for path, status, fields in (
        ("move", 422, {"server": "third"}),
        ("move", 409, {"server": "main"}),
        ("confirm-move", 409, {}),
        ("confirm-move", 409, {"sure": "yes"}),
        ("undo-move", 409, {}),
    ):
        page = await browser.post(f"{AT}/tenant/{path}", status, **fields)
        assert html_pages.check(page).find(".//*[@role='alert']") is not None
        assert 'aria-invalid="true"' not in page, path
    for path in ("move", "confirm-move", "undo-move"):
        await browser.post(f"{AT}/nobody/{path}", 404, server="second")

    page = await move(browser, "second")
    assert "tenant is on second." in page
    assert "were compared. Writes waited" in page
    assert "moved from main" in page
    page = await browser.post(f"{AT}/tenant/undo-move")
    assert ("tenant is on main." in page, offered(browser)) == (True, {"suspend", "move"})

    await move(browser, "second")
    page = await browser.post(f"{AT}/tenant/confirm-move")
    assert "What it left on main is dropped." in page
    assert offered(browser) == {"confirm-move", "undo-move", "suspend"}
    page = await browser.post(f"{AT}/tenant/confirm-move", sure="yes")
    assert ("tenant is on second." in page, offered(browser)) == (True, {"suspend", "move"})

    await servers.workspaces.suspend(ADMIN, "tenant")
    await browser.get(AT)
    assert offered(browser) == {"resume", "move", "drop"}
    await servers.workspaces.drop(ADMIN, "tenant", dry_run=False)
    await browser.client.aclose()


async def test_the_list_says_how_far_a_workspace_is_on_its_way(
    host: Remembrancer, app: FastAPI, api: Api
) -> None:
    """Each state in words, with what can be done then; nothing moves where there is one server."""
    browser = await signed_in(app, api.admin["Authorization"].removeprefix("Bearer "))
    await host.workspaces.create(ADMIN, "tenant")
    await browser.get(AT)
    assert offered(browser) == {"suspend"}
    for state, (words, acts) in STEPS.items():
        way = WorkspaceMove(
            from_server="main",
            from_database="here",
            to_server="second",
            to_database="there",
            state=state,
            done_bytes=42,
            total_bytes=100,
            started_at=datetime.now(UTC),
        )
        note(way)
        page = await browser.get(AT)
        assert (words in page, offered(browser)) == (True, acts), state
    note(None)
    await browser.client.aclose()


async def test_pages_name_the_workspace_that_one_is_signed_in_to(
    servers: Remembrancer, app: FastAPI, api: Api
) -> None:
    """So nobody takes one customer for another; the host's own has no name there."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    for secret, name in (
        (created.secret, "tenant"),
        (api.admin["Authorization"].removeprefix("Bearer "), None),
    ):
        browser = await signed_in(app, secret)
        [header] = html_pages.check(await browser.get("/admin/keys")).iter("header")
        names = [span for span in header.iter("span") if span.get("class") == "who"]
        named = ["".join(span.itertext()) for span in names]
        assert named == ([f"Workspace {name}"] if name else [])
