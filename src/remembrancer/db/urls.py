"""Addresses of databases."""

from typing import Final

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from remembrancer.errors import ConfigurationError

APP_ROLE: Final = "remembrancer_app"

_LIVENESS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A server that went without a word is noticed within a minute, not within hours. An address may
say otherwise."""


def driver_url(url: str) -> str:
    return _address(url, "postgresql+psycopg")


def libpq_url(url: str) -> str:
    return _address(url, "postgresql")


def service_url(owner_url: str) -> str:
    """Return the address of the embedded server for the service, which is not the owner."""
    return make_url(owner_url).set(username=APP_ROLE).render_as_string(False)


def _address(url: str, driver: str) -> str:
    try:
        return make_url(url).set(drivername=driver).render_as_string(False)
    except (ArgumentError, ValueError):  # not chained: it quotes the password
        raise ConfigurationError(
            "database_url: must be an address such as postgresql://user:password@host/name"
        ) from None


def liveness(url: str) -> dict[str, int]:
    """Return the arguments of a connection that notice a server which is gone."""
    return {name: value for name, value in _LIVENESS.items() if name not in make_url(url).query}
