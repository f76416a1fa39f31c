"""The MCP server: maps requests to a source, and its answers back. Stateless."""

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
from remembrancer.mcp.resources import Resource, ResourceRequest
from remembrancer.mcp.sources import Principal, Source
from remembrancer.validation import validate

log = logging.getLogger(__name__)

RequestContext = ServerRequestContext[Any, Any]
FindSource = Callable[[RequestContext], Awaitable[Source]]
"""Finds the source for a request."""
Params = TypeVar("Params")
Answer = TypeVar("Answer")
PER_PAGE: Final = 50
"""Tools, resources or prompts in one answer."""


def create_server(find: FindSource) -> Server[Any]:
    """Return a server that answers each request from the source of ``find``."""
    _hide_content_in_logs()
    handlers = _Handlers(find)
    return Server(
        "remembrancer",
        title="Remembrancer",
        version=version.__version__,
        description=prompts.DESCRIPTION,
        instructions=prompts.INSTRUCTIONS,
        on_list_tools=_safe(handlers.list_tools),
        on_call_tool=_safe(handlers.call_tool),
        on_list_resources=_safe(handlers.list_resources),
        on_list_resource_templates=_safe(handlers.list_templates),
        on_read_resource=_safe(handlers.read_resource),
        on_list_prompts=_safe(handlers.list_prompts),
        on_get_prompt=_safe(handlers.get_prompt),
        # Without it the library lists the tools at every call to check headers.
        get_tool_input_schema=lambda _name: None,
    )


class _Handlers:
    def __init__(self, find: FindSource) -> None:
        self._find = find

    async def list_tools(
        self, context: RequestContext, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        source = await self._find(context)
        tools = [_tool(tool, source.id_arguments) for tool in await source.tools()]
        page, cursor = _page(tools, params)
        return protocol.ListToolsResult(tools=page, next_cursor=cursor)

    async def call_tool(
        self, context: RequestContext, params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        source = await self._find(context)
        arguments = dict(params.arguments or {})
        try:
            principal = _principal(arguments, source.id_arguments)
            answer = await source.call(principal, params.name, arguments)
        except RemembrancerError as error:
            if isinstance(error, NotFound) and error.field == "name":
                raise
            return _error_result(str(error))
        if not answer.ok:
            return _error_result(answer.text)
        return protocol.CallToolResult(
            content=[_text(answer.text)], structured_content=to_jsonable_python(answer.result)
        )

    async def list_resources(
        self, _context: RequestContext, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourcesResult:
        page, cursor = _page(
            [
                protocol.Resource(uri=resource.uri, **_about(resource))
                for resource in resources.fixed()
            ],
            params,
        )
        return protocol.ListResourcesResult(resources=page, next_cursor=cursor)

    async def list_templates(
        self, context: RequestContext, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourceTemplatesResult:
        source = await self._find(context)
        templates = [
            protocol.ResourceTemplate(uri_template=template.uri, **_about(template))
            for template in resources.templates(source.id_arguments)
        ]
        page, cursor = _page(templates, params)
        return protocol.ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def read_resource(
        self, context: RequestContext, params: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        source = await self._find(context)
        request = resources.parse(params.uri, source.id_arguments)
        mime_type = "text/plain" if request.kind == "context" else "application/json"
        contents = protocol.TextResourceContents(
            uri=params.uri, mime_type=mime_type, text=await _read(source, request)
        )
        return protocol.ReadResourceResult(contents=[contents])

    async def list_prompts(
        self, context: RequestContext, params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListPromptsResult:
        source = await self._find(context)
        arguments = [
            protocol.PromptArgument(name=name, description=description, required=False)
            for name, description in prompts.prompt_arguments(source.id_arguments)
        ]
        prompt = protocol.Prompt(
            name=prompts.PROMPT,
            title=prompts.PROMPT_TITLE,
            description=prompts.PROMPT_DESCRIPTION,
            arguments=arguments,
        )
        page, cursor = _page([prompt], params)
        return protocol.ListPromptsResult(prompts=page, next_cursor=cursor)

    async def get_prompt(
        self, context: RequestContext, params: protocol.GetPromptRequestParams
    ) -> protocol.GetPromptResult:
        source = await self._find(context)
        if params.name != prompts.PROMPT:
            raise NotFound(f"no such prompt; there is {prompts.PROMPT}", field="name")
        arguments: dict[str, Any] = dict(params.arguments or {})
        principal = _principal(arguments, source.id_arguments)
        message = (arguments.pop("message", None) or "").strip()
        if arguments:
            name = resources.argument_name(next(iter(arguments)), "arguments")
            raise InvalidInput("is not an argument of this prompt", field=name)
        memory = await source.context(principal, validate(ContextQuery, message=message or None))
        text = prompts.first_message(memory, message)
        return protocol.GetPromptResult(
            description=prompts.PROMPT_DESCRIPTION,
            messages=[protocol.PromptMessage(role="user", content=_text(text))],
        )


async def _read(source: Source, request: ResourceRequest) -> str:
    principal = Principal(request.user_id, request.agent_id)
    if request.kind == "context":
        query = validate(ContextQuery, conversation_id=request.id or None)
        return (await source.context(principal, query)).stable.text
    if request.kind == "document":
        page = page_of(await source.document(principal), request.page)
        return to_json(page).decode()
    history = await source.history(principal, request.id)
    return to_json(resources.history_page(history, request.page)).decode()


def _principal(arguments: dict[str, Any], id_arguments: Sequence[str]) -> Principal:
    """Take the ids of user and agent out of ``arguments``."""
    ids = {name: arguments.pop(name, None) for name in id_arguments}
    return Principal(
        **{name: resources.as_id(value, name) for name, value in ids.items() if value is not None}
    )


def _tool(tool: Mapping[str, Any], id_arguments: Sequence[str]) -> protocol.Tool:
    effects = tool["effects"]
    schema = dict(tool["parameters"])
    if id_arguments:
        ids = {name: prompts.ID_ARGUMENTS[name] for name in id_arguments}
        schema["properties"] = {**schema["properties"], **ids}
    return protocol.Tool(
        name=tool["name"],
        title=prompts.title(tool["name"]),
        description=tool["description"],
        input_schema=schema,
        output_schema=tool["returns"],
        annotations=protocol.ToolAnnotations(
            title=prompts.title(tool["name"]),
            read_only_hint=effects["read_only"],
            destructive_hint=effects["destructive"],
            idempotent_hint=effects["idempotent"],
            open_world_hint=False,
        ),
    )


def _about(resource: Resource) -> dict[str, str]:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": resource.mime_type,
    }


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(text=text)


def _error_result(text: str) -> protocol.CallToolResult:
    return protocol.CallToolResult(content=[_text(text)], is_error=True)


def _page(
    items: Sequence[Params], params: protocol.PaginatedRequestParams | None
) -> tuple[list[Params], str | None]:
    cursor = (params and params.cursor) or "0"
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:9]) <= len(items)):
        raise InvalidInput("is not a cursor from this list", field="cursor")
    start = int(cursor)
    end = start + PER_PAGE
    return list(items[start:end]), str(end) if end < len(items) else None


def _safe(
    handler: Callable[[RequestContext, Params], Awaitable[Answer]],
) -> Callable[[RequestContext, Params], Awaitable[Answer]]:
    """Return ``handler`` with errors as protocol errors that never contain users' content."""

    @wraps(handler)
    async def handled(context: RequestContext, params: Params) -> Answer:
        try:
            return await handler(context, params)
        except RemembrancerError as error:
            raise MCPError(_code(error), str(error)) from None
        except MCPError:
            raise
        except Exception as error:
            # The place and the kind only: a message may quote users' content.
            trace = "".join(traceback.format_tb(error.__traceback__))
            log.error("unexpected %s\n%s", type(error).__name__, trace)
            text = "internal error; the server's log has the details"
            raise MCPError(protocol.INTERNAL_ERROR, text) from None

    return handled


def _code(error: RemembrancerError) -> int:
    internal = isinstance(error, Unavailable)
    if isinstance(error, Forbidden):
        return protocol.INVALID_REQUEST
    return protocol.INTERNAL_ERROR if internal else protocol.INVALID_PARAMS


class _WithoutContent(logging.Handler):
    """Forwards log lines of the protocol's library without their exceptions."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "%s", record.getMessage())


def _hide_content_in_logs() -> None:
    logger = logging.getLogger("mcp")
    if not any(isinstance(handler, _WithoutContent) for handler in logger.handlers):
        logger.addHandler(_WithoutContent(logging.WARNING))
        logger.propagate = False
