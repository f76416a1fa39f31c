"""The documentation that `serve` shows: the site of `docs/`, and the page to try the API on."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from browsing import SHOTS, Site
from playwright.async_api import expect

import remembrancer
from remembrancer.api.server import openapi_document
from remembrancer.client.operations import Group
from remembrancer.web import documentation


@pytest.fixture(autouse=True)
def built() -> None:
    """Tests run after `make site` or anything that makes it."""
    assert documentation.SITE.is_dir(), "run `make site`"


async def test_the_site_opens_and_finds_words(site: Site) -> None:
    """Search, links and both themes work, and no script of it is blocked."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    async with site.opened(color_scheme="dark") as page:
        await page.goto("/docs/")
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Remembrancer")
        await page.screenshot(path=SHOTS / "documentation-dark.jpg")
        await page.goto("/docs/settings/")
        await page.get_by_role("textbox", name="Search").fill("time zone")
        found = page.locator(".md-search-result__link").first
        await expect(found).to_be_visible()
        await page.goto("/docs/no-such-page/")
        await expect(page.locator("body")).to_contain_text("There is no such page")


async def test_the_api_can_be_tried_with_a_key(site: Site) -> None:
    """The viewer lists the operations, and sends a request of its own."""
    async with site.opened() as page:
        await page.goto("/docs/api")
        await page.get_by_role("heading", name="system").click()
        await page.locator(".opblock-summary-path", has_text="/healthz").click()
        await page.get_by_role("button", name="Execute").click()
        status = page.locator(".live-responses-table tbody .response-col_status").first
        await expect(status).to_contain_text("200")
        await page.screenshot(path=SHOTS / "documentation-api.jpg")


def test_no_page_of_the_site_takes_a_file_from_elsewhere() -> None:
    """Scripts, styles, pictures and fonts are those of the site."""
    taken = re.compile(r"""(?:src|href)=["'](?:https?:)?//[^"']+["']""")
    for page in documentation.SITE.rglob("*.html"):
        found = taken.findall(re.sub(r"<a [^>]*>", "", page.read_text("utf-8")))
        assert not [link for link in found if "127.0.0.1" not in link], (page, found)


def test_every_endpoint_and_model_of_rest_has_its_fields() -> None:
    """As the OpenAPI document has them."""
    page = (documentation.SITE / "rest-fields" / "index.html").read_text("utf-8")
    document: Any = openapi_document()
    for path, operations in document["paths"].items():
        for method in operations:
            assert f">{method.upper()} {path}<" in page
    for name, schema in document["components"]["schemas"].items():
        assert f'id="{name.lower()}"' in page
        for field in schema.get("properties", ()):
            assert f"<code>{field}</code>" in page


def test_the_reference_has_every_public_name() -> None:
    """What `remembrancer` exports, and each method of the client's nouns."""
    pages = [documentation.SITE / name / "index.html" for name in ("reference", "models")]
    text = "".join(page.read_text("utf-8") for page in pages)
    described = set(re.findall(r'id="remembrancer\.([\w.]+)"', text))
    exported = {line for line in remembrancer.__all__ if line[0].isupper()}
    assert exported <= {path.rpartition(".")[2] for path in described}
    methods = {
        f"{type(noun).__module__.removeprefix('remembrancer.')}.{type(noun).__name__}.{method}"
        for noun in vars(remembrancer.AsyncClient()).values()
        if isinstance(noun, Group)
        for method in dir(noun)
        if not method.startswith("_") and method != "sender"
    }
    assert methods <= described


async def test_the_site_without_a_build_says_how_to_get_it(
    visitor: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "SITE", tmp_path / "none")
    answer = await visitor.get("/docs/")
    assert answer.status_code == 404
    assert "make site" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../pages.py",
        "/docs/%2e%2e/pages.py",
        "/docs/%00",
        "/docs/api/x",
        "/docs/" + "a" * 5000,
    ],
)
async def test_what_is_not_there_is_not_found(visitor: httpx2.AsyncClient, path: str) -> None:
    answer = await visitor.get(path)
    assert answer.status_code == 404


@pytest.fixture
async def visitor(app: Any) -> Any:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
