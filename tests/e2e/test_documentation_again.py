"""A page of the documentation that a browser has already."""

from pathlib import Path

import pytest
from fastapi import APIRouter
from starlette.responses import Response
from starlette.testclient import TestClient

from remembrancer.api.server import SecurityHeaders
from remembrancer.web import documentation

PAGE = "<html><script>let a = 1</script><p>Read me.</p></html>"


def test_a_page_that_has_not_changed_keeps_the_headers_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser takes the headers of the 304: another policy would leave the page without CSS."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "index.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "style.css").write_text("p { color: red }", encoding="utf-8")
    monkeypatch.setattr(documentation, "SITE", tmp_path)
    pages = APIRouter()
    documentation.install(pages)
    client = TestClient(SecurityHeaders(pages))
    for path in ("/docs/mcp/", "/docs/style.css"):
        first = client.get(path)
        known = (
            {"If-None-Match": first.headers["etag"]},
            {"If-Modified-Since": first.headers["last-modified"]},
        )
        for headers in known:
            again = client.get(path, headers=headers)
            assert (first.status_code, again.status_code) == (200, 304)
            assert "style-src 'self'" in again.headers["content-security-policy"]
            for name, value in again.headers.items():
                assert first.headers[name] == value, name


def test_no_header_is_added_to_an_answer_that_nothing_has_changed() -> None:
    """Whoever answers it: what the browser has keeps its own."""
    answer = TestClient(SecurityHeaders(Response(status_code=304))).get("/")
    assert set(answer.headers) <= {"content-length"}
