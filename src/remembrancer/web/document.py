"""A person's memory as one document: what is in it, taken along, and added to."""

from typing import Final

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import Response

from remembrancer.document.schemas import DocumentImport
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.validation import wrong_field
from remembrancer.web import labels
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest

router = APIRouter(prefix="/people/{user_id}/document")

SHOWN: Final = 100
"""Facts and places on the page; the file has all of them."""


@router.get("")
async def show(request: UserRequest) -> Response:
    """Show the document."""
    return await _show(request, Form([]))


async def _show(
    request: PageRequest, form: Form, error: RemembrancerError | None = None
) -> Response:
    return request.render(
        "document.html",
        error.status if error else 200,
        document=await request.app.documents.get(request.user_actor),
        most=SHOWN,
        form=form,
        error=error,
    )


@router.post("")
async def import_(request: UserRequest, form: CheckedForm) -> Response:
    """Add what a document has and the person has not."""
    try:
        done = await request.app.documents.import_(request.user_actor, _read(form), source="web")
    except RemembrancerError as error:
        return await _show(request, form, error)
    facts = labels.plural(done.facts_added, "memory", "memories")
    said = f"{facts} and {labels.plural(done.pois_added, 'place')} added."
    if known := done.facts_known + done.pois_known:
        said += f" {known:,} known already."
    if done.evicted:
        said += f" {len(done.evicted):,} evicted, over the budget."
    request.notify(said)
    return request.redirect(f"{request.base}/document")


def _read(form: Form) -> DocumentImport:
    try:
        return DocumentImport.model_validate_json(form.get("document") or "")
    except ValidationError as error:
        path, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
        # Not chained: pydantic's own error quotes the text.
        where = f"{'.'.join(path)}: " if path else ""
        raise InvalidInput(f"{where}{reason}", field="document") from None
