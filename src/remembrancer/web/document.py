"""The page about a user's memory document: overview, download, import."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.document.schemas import DocumentImport
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.validation import validate_json
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest, shows_errors
from remembrancer.web.languages import counted, gettext, number

router = APIRouter(prefix="/people/{user_id}/document")


async def _render(
    request: PageRequest, form: Form | None = None, error: RemembrancerError | None = None
) -> Response:
    document = await request.app.documents.page(request.user_actor, 1)
    return request.render("document.html", error=error, document=document, form=form or Form())


@router.get("")
async def show(request: UserRequest) -> Response:
    return await _render(request)


@router.post("")
@shows_errors(_render)
async def import_(request: UserRequest, form: CheckedForm) -> Response:
    result = await request.app.documents.import_(request.user_actor, _parse(form), source="web")
    facts = counted("%(count)s memory", "%(count)s memories", result.facts_added)
    places = counted("%(count)s place", "%(count)s places", result.pois_added)
    text = gettext("%(facts)s and %(places)s added.", facts=facts, places=places)
    if existing := result.facts_known + result.pois_known:
        text += " " + gettext("%(count)s known already.", count=number(existing))
    if result.evicted:
        text += " " + gettext(
            "%(count)s evicted, over the budget.", count=number(len(result.evicted))
        )
    return request.to("document", text)


def _parse(form: Form) -> DocumentImport:
    try:
        return validate_json(DocumentImport, form.get("document") or "")
    except InvalidInput as error:
        raise InvalidInput(str(error), field="document") from None
