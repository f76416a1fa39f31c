"""The MCP server: translates requests to a source, and its answers back. Keeps nothing."""

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import mcp_types as protocol
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json, to_jsonable_python

from remembrancer import version
from remembrancer.context.schemas import ContextQuery
from remembrancer.document.pages import page_of
from remembrancer.errors import Forbidden, InvalidInput, NotFound, RemembrancerError, Unavailable
from remembrancer.mcp import prompts, resources
from remembrancer.mcp.resources import Template, Wanted
from remembrancer.mcp.sources import Source, Whom
from remembrancer.validation import made

log = logging.getLogger(__name__)

Asked = ServerRequestContext[Any, Any]
Find = Callable[[Asked], Awaitable[Source]]
"""Finds whose memory a request is about."""
Params = TypeVar("Params")
Answer = TypeVar("Answer")
PER_PAGE: Final = 50
"""Tools, resources or prompts in one answer."""


def create_server(find: Find) -> Server[Any]:
    """Return a server whose requests are about the memory that ``find`` says."""
    _quieten()
    handlers = _Handlers(find)
    return Server(
        "remembrancer",
        title="Remembrancer",
        version=version.__version__,
        description=prompts.DESCRIPTION,
        instructions=prompts.INSTRUCTIONS,
        on_list_tools=_careful(handlers.list_tools),
        on_call_tool=_careful(handlers.call_tool),
        on_list_resources=_careful(handlers.list_resources),
        on_list_resource_templates=_careful(handlers.list_templates),
        on_read_resource=_careful(handlers.read_resource),
        on_list_prompts=_careful(handlers.list_prompts),
        on_get_prompt=_careful(handlers.get_prompt),
        # Only there so that headers are not checked by listing the tools at every call.
        get_tool_input_schema=lambda _name: None,
    )


class _Handlers:
    """One method for each kind of request."""

    def __init__(self, find: Find) -> None:
        self._find = find

    async def list_tools(
        self, asked: Asked, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        source = await self._find(asked)
        tools = [_tool(one, source.naming) for one in await source.tools()]
        page, cursor = _paged(tools, params)
        return protocol.ListToolsResult(tools=page, next_cursor=cursor)

    async def call_tool(
        self, asked: Asked, params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        source = await self._find(asked)
        arguments = dict(params.arguments or {})
        try:
            whom = _whom(arguments, source.naming)
            answer = await source.call(whom, params.name, arguments)
        except RemembrancerError as error:
            if isinstance(error, NotFound) and error.field == "name":
                raise
            return _failed(prompts.told(error))
        if not answer.ok:
            return _failed(answer.text)
        return protocol.CallToolResult(
            content=[_text(answer.text)], structured_content=to_jsonable_python(answer.result)
        )

    async def list_resources(
        self, _asked: Asked, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourcesResult:
        page, cursor = _paged([_resource(one) for one in resources.fixed()], params)
        return protocol.ListResourcesResult(resources=page, next_cursor=cursor)

    async def list_templates(
        self, asked: Asked, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourceTemplatesResult:
        source = await self._find(asked)
        listed = resources.templates(source.naming)
        page, cursor = _paged([_template(one) for one in listed], params)
        return protocol.ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def read_resource(
        self, asked: Asked, params: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        source = await self._find(asked)
        wanted = resources.read(params.uri, source.naming)
        mime_type = "text/plain" if wanted.kind == "context" else "application/json"
        contents = protocol.TextResourceContents(
            uri=params.uri, mime_type=mime_type, text=await _read(source, wanted)
        )
        return protocol.ReadResourceResult(contents=[contents])

    async def list_prompts(
        self, asked: Asked, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListPromptsResult:
        source = await self._find(asked)
        arguments = [
            protocol.PromptArgument(name=name, description=description, required=False)
            for name, description in prompts.prompt_arguments(source.naming)
        ]
        prompt = protocol.Prompt(
            name=prompts.PROMPT,
            title=prompts.PROMPT_TITLE,
            description=prompts.PROMPT_DESCRIPTION,
            arguments=arguments,
        )
        page, cursor = _paged([prompt], params)
        return protocol.ListPromptsResult(prompts=page, next_cursor=cursor)

    async def get_prompt(
        self, asked: Asked, params: protocol.GetPromptRequestParams
    ) -> protocol.GetPromptResult:
        source = await self._find(asked)
        if params.name != prompts.PROMPT:
            raise NotFound(f"no such prompt; there is {prompts.PROMPT}", field="name")
        given: dict[str, Any] = dict(params.arguments or {})
        whom = _whom(given, source.naming)
        message = (given.pop("message", None) or "").strip()
        if given:
            raise InvalidInput(
                "is no argument of this prompt", field=prompts.field(next(iter(given)))
            )
        context = await source.context(whom, made(ContextQuery, message=message or None))
        said = prompts.opening(context, message)
        return protocol.GetPromptResult(
            description=prompts.PROMPT_DESCRIPTION,
            messages=[protocol.PromptMessage(role="user", content=_text(said))],
        )


async def _read(source: Source, wanted: Wanted) -> str:
    whom = Whom(wanted.user_id, wanted.agent_id)
    if wanted.kind == "context":
        asked = made(ContextQuery, conversation_id=wanted.id or None)
        return (await source.context(whom, asked)).stable.text
    if wanted.kind == "document":
        page = page_of(await source.document(whom), wanted.page)
        return to_json(page).decode()
    history = await source.history(whom, wanted.id)
    return to_json(resources.history_page(history, wanted.page)).decode()


def _whom(arguments: dict[str, Any], naming: Sequence[str]) -> Whom:
    """Take out of ``arguments`` for whom a service asks."""
    given = {name: arguments.pop(name, None) for name in naming}
    return Whom(
        **{name: resources.as_id(value, name) for name, value in given.items() if value is not None}
    )


def _tool(shown: Mapping[str, Any], naming: Sequence[str]) -> protocol.Tool:
    effects = shown["effects"]
    schema = dict(shown["parameters"])
    if naming:
        whom = {name: prompts.WHOM[name] for name in naming}
        schema["properties"] = {**schema["properties"], **whom}
    return protocol.Tool(
        name=shown["name"],
        title=prompts.title(shown["name"]),
        description=shown["description"],
        input_schema=schema,
        output_schema=shown["returns"],
        annotations=protocol.ToolAnnotations(
            title=prompts.title(shown["name"]),
            read_only_hint=effects["read_only"],
            destructive_hint=effects["destructive"],
            idempotent_hint=effects["idempotent"],
            open_world_hint=False,
        ),
    )


def _resource(one: Template) -> protocol.Resource:
    return protocol.Resource(
        name=one.name,
        uri=one.uri,
        title=one.title,
        description=one.description,
        mime_type=one.mime_type,
    )


def _template(one: Template) -> protocol.ResourceTemplate:
    return protocol.ResourceTemplate(
        name=one.name,
        uri_template=one.uri,
        title=one.title,
        description=one.description,
        mime_type=one.mime_type,
    )


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(text=text)


def _failed(text: str) -> protocol.CallToolResult:
    return protocol.CallToolResult(content=[_text(text)], is_error=True)


def _paged(
    items: Sequence[Params], params: protocol.PaginatedRequestParams | None
) -> tuple[list[Params], str | None]:
    cursor = (params and params.cursor) or "0"
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:9]) <= len(items)):
        raise InvalidInput("is not a cursor from this list", field="cursor")
    start = int(cursor)
    end = start + PER_PAGE
    return list(items[start:end]), str(end) if end < len(items) else None


def _careful(
    handler: Callable[[Asked, Params], Awaitable[Answer]],
) -> Callable[[Asked, Params], Awaitable[Answer]]:
    """Return ``handler`` with every error told in words, and none with what people said."""

    @wraps(handler)
    async def handled(asked: Asked, params: Params) -> Answer:
        try:
            return await handler(asked, params)
        except RemembrancerError as error:
            raise MCPError(_code(error), prompts.told(error)) from None
        except MCPError:
            raise
        except Exception as error:
            # Where it happened and what kind it was: a message may quote what people said.
            trace = "".join(traceback.format_tb(error.__traceback__))
            log.error("unexpected %s\n%s", type(error).__name__, trace)
            told = "something went wrong; the log says where"
            raise MCPError(protocol.INTERNAL_ERROR, told) from None

    return handled


def _code(error: RemembrancerError) -> int:
    internal = isinstance(error, Unavailable)
    if isinstance(error, Forbidden):
        return protocol.INVALID_REQUEST
    return protocol.INTERNAL_ERROR if internal else protocol.INVALID_PARAMS


class _WithoutContent(logging.Handler):
    """Passes on what the protocol's library logs, without the errors it quotes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the message of a record, no more."""
        log.log(record.levelno, "%s", record.getMessage())


def _quieten() -> None:
    theirs = logging.getLogger("mcp")
    if not any(isinstance(one, _WithoutContent) for one in theirs.handlers):
        theirs.addHandler(_WithoutContent(logging.WARNING))
        theirs.propagate = False
