"""Base models of input, and errors with the field and the reason, never the value."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Final, Self, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from remembrancer.errors import InvalidInput
from remembrancer.reasons import no_id, wrong_field

Model = TypeVar("Model", bound=BaseModel)
MOST_IN_BATCH: Final = 10_000
"""Maximum items of a list in a request, whatever ``limits.batch`` is."""
MOST_CHOICES: Final = 100
"""Maximum values of one filter."""


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


def _first(errors: ValidationError) -> InvalidInput:
    error = errors.errors(include_input=False, include_url=False)[0]
    path, reason = wrong_field(error)
    if error["type"] == "json_invalid":
        reason = "is not valid JSON"
    return InvalidInput(reason, field=".".join(path) or None)


def validate(model: type[Model], /, **values: Any) -> Model:
    """Return ``model(**values)``; raise ``InvalidInput`` for the first invalid field."""
    try:
        return model(**values)
    except ValidationError as error:
        # Not chained: pydantic's own error quotes the value.
        raise _first(error) from None


def model_of(model: type[Model], given: Model | None, fields: Mapping[str, object]) -> Model:
    """Return the given model, or that of its fields; raise ``InvalidInput`` if there are both."""
    if given is None:
        return validate(model, **fields)
    if fields:
        reason = f"must be in the {model.__name__} that is given, not a keyword beside it"
        raise InvalidInput(reason, field=next(iter(fields)))
    return given


def validate_json(model: type[Model], text: str | bytes) -> Model:
    """Return the model in a JSON text; raise ``InvalidInput`` for the first invalid field."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise _first(error) from None


def check_names(
    names: Iterable[str],
    known: Collection[str],
    *,
    lists: Collection[str] = (),
    elsewhere: Collection[str] = (),
    place: str = "",
) -> None:
    """Raise ``InvalidInput`` for a query parameter that is unknown, or is there twice.

    ``lists`` may be there more than once. The names ``elsewhere`` belong in ``place``.
    """
    seen: set[str] = set()
    for name in names:
        if name not in known and name in elsewhere:
            raise InvalidInput(f"belongs in the {place} of this request", field=name)
        if name not in known:
            field = name if name.isprintable() and len(name) <= 40 else "query"
            raise InvalidInput("is not a parameter of this request; leave it out", field=field)
        if name in seen and name not in lists:
            raise InvalidInput("is given more than once", field=name)
        seen.add(name)


def as_id(value: Any, *, field: str) -> UUID:
    """Return the id in a text; raise ``InvalidInput`` for the field if it is none."""
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(no_id([field]), field=field) from None


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
