"""Base models of input, and errors with the field and the reason, never the value."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from remembrancer.errors import InvalidInput

Model = TypeVar("Model", bound=BaseModel)


class Input(BaseModel):
    """Data from clients and files. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Update(Input):
    """Changes of some fields. Null is refused, except for the fields in ``nullable``."""

    nullable: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _check_nulls(self) -> Self:
        for name in type(self).model_fields:
            if name in self.model_fields_set - self.nullable and getattr(self, name) is None:
                raise ValueError(f"{name}: must not be null")
        return self


def wrong_field(error: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the path and the reason of an error of pydantic.

    A validator of several fields names one in its message: "field: reason".
    """
    path = [str(part) for part in error["loc"]]
    reason = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "value_error" and ": " in reason:
        field, reason = reason.split(": ", 1)
        path.append(field)
    return path, reason


def validate(model: type[Model], /, **values: Any) -> Model:
    """Return ``model(**values)``; raise ``InvalidInput`` for the first invalid field."""
    try:
        return model(**values)
    except ValidationError as error:
        path, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
        # Not chained: pydantic's own error quotes the value.
        raise InvalidInput(reason, field=".".join(path) or None) from None


def server_address(url: str | None) -> str:
    """Return the address of a server; raise ``InvalidInput`` for an invalid one."""
    try:
        parts = urlsplit(url or "")
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if url is None or not valid or parts.query or parts.fragment or not url.isprintable():
        raise InvalidInput("must be an address such as http://127.0.0.1:8420", field="url")
    return url.rstrip("/")
