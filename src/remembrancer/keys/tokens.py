"""Tokens of an identity provider (JWT), which act like keys of their users."""

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Final, Never
from uuid import UUID

import jwt
from pydantic import ValidationError

from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.plans import PLANNED_ONCE
from remembrancer.db.sql import Statement, numbered, statement
from remembrancer.errors import ConfigurationError, Forbidden, Unauthenticated
from remembrancer.ids import DEFAULT_WORKSPACE, new_uuid
from remembrancer.keys.issuer import IssuerKeys, PublicKey
from remembrancer.keys.rows import TokenUserRow
from remembrancer.settings import OidcSettings
from remembrancer.users import repository as users
from remembrancer.users.schemas import ResolveUser

log = logging.getLogger(__name__)

REFUSED: Final = (
    "the token is not valid here: it has expired, is for another server, or is not signed by the"
    " identity provider of this one; get another token"
)
UNKNOWN_USER: Final = (
    "the token is valid, but its user is unknown here; an admin creates the user, or sets"
    " oidc.create_users"
)
_LONGEST: Final = 16_384
"""Characters of a token. Longer ones are refused before anything reads them."""
_WRONG: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
_NOBODY: Final = Actor(Role.SERVICE)

_RESOURCE_PATH: Final = "/mcp"
_SCOPE_CLAIMS: Final = {"scope", "scp"}

_sql = partial(statement, "remembrancer.keys", "tokens")


class TokenVerifier:
    """Checks tokens: signature, algorithm, issuer, audience and times."""

    def __init__(
        self, settings: OidcSettings, keys: IssuerKeys, resource: str | None = None
    ) -> None:
        self._audiences = [each for each in (settings.audience, resource) if each]
        if not self._audiences:
            raise ConfigurationError(
                "oidc.audience: must be set with oidc.issuer, unless server.public_url is"
            )
        self._settings = settings
        self._algorithms = settings.algorithms.split(",")
        self._keys = keys

    async def verify(self, token: str) -> Mapping[str, object]:
        """Return the claims of a token.

        Raises ``Unauthenticated`` for a token that is not valid, and ``Unavailable`` while the keys
        of the provider cannot be fetched.
        """
        try:
            key = await self._key(token)
            return self._claims(token, key) if key is not None else _refuse("unknown key")
        except _WRONG as error:
            _refuse(type(error).__name__)

    async def _key(self, token: str) -> PublicKey | None:
        if len(token) > _LONGEST:
            _refuse("too long")
        header = jwt.get_unverified_header(token)
        # Nothing else of the header is used: no key and no address in it.
        if header.get("alg") not in self._algorithms:
            _refuse("algorithm")
        return await self._keys.find(header.get("kid"))

    def _claims(self, token: str, key: PublicKey) -> Mapping[str, object]:
        own = [each for each in self._algorithms if key.algorithm in {None, each}]
        claims: Mapping[str, object] = jwt.decode(
            token,
            key.jwk.key,
            algorithms=own,
            audience=self._audiences,
            issuer=self._settings.issuer,
            leeway=self._settings.leeway,
            options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
        )
        return claims


class UserTokens:
    """Finds the user of a token; see :class:`OidcSettings`.

    A server with a ``public_url`` is a resource (RFC 8707), for which OAuth clients ask tokens.
    """

    refused = REFUSED
    """What a token that is not valid is answered."""

    def __init__(
        self, database: Database, settings: OidcSettings, public_url: str | None = None
    ) -> None:
        self._database = database
        self._workspace = DEFAULT_WORKSPACE
        self.settings = settings
        self._public_url = public_url
        self._keys = IssuerKeys(settings)
        resource = self.resource_at(public_url) if public_url else None
        self.verifier = TokenVerifier(settings, self._keys, resource)

    def within(self, workspace: str, database: Database) -> "UserTokens":
        """Return the same for another workspace, with the keys of the provider in common."""
        other = copy(self)
        other._workspace, other._database = workspace, database
        return other

    async def workspace_of(self, token: str) -> str:
        """Return the name of the workspace that a token is for, known or not.

        Raises as :meth:`TokenVerifier.verify` does where a claim says so.
        """
        if not self.settings.workspace_claim:
            return DEFAULT_WORKSPACE
        return self._workspace_in(await self.verifier.verify(token))

    def _workspace_in(self, claims: Mapping[str, object]) -> str:
        if not self.settings.workspace_claim:
            return DEFAULT_WORKSPACE
        name = claims.get(self.settings.workspace_claim)
        if isinstance(name, list) and len(name) == 1:
            [name] = name
        return name if isinstance(name, str) and name else _refuse("no workspace")

    def resource_at(self, address: str) -> str:
        """Return the resource that tokens are for, of this server as a client reaches it."""
        return (self._public_url or address).rstrip("/") + _RESOURCE_PATH

    @property
    def scope(self) -> str | None:
        """The scope that a token must have, if it is a scope that it must have."""
        return self.settings.role if self.settings.role_claim in _SCOPE_CLAIMS else None

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._keys.close()

    async def authenticate(self, token: str, *, entry_point: str) -> Actor:
        """Return the actor of a token: as of a key of its user, who is looked up.

        Raises ``Unauthenticated`` for a token that is not valid and for an unknown user, and
        ``Forbidden`` for a token without the role.
        """
        claims = await self.verifier.verify(token)
        if self._workspace_in(claims) != self._workspace:
            _refuse("workspace")
        wanted = self.settings.role_claim
        if wanted and self.settings.role not in _words(claims.get(wanted)):
            raise Forbidden("the token does not have the role that this server asks for")
        user = self._user(claims)
        row = await self._find(user)
        if row is None and self.settings.create_users:
            async with self._database.system() as connection:
                await users.create_if_new(connection, new_uuid(), **user.model_dump())
            row = await self._find(user)
        if row is None:
            raise Unauthenticated(UNKNOWN_USER)
        return Actor(
            Role.USER,
            user_id=row.user_id,
            agent_id=self._agent_id(claims),
            entry_point=entry_point,
            merged_ids=frozenset(row.merged_ids),
        )

    async def _find(self, user: ResolveUser) -> TokenUserRow | None:
        binds = {"platform": user.platform, "platform_user_id": user.platform_user_id}
        sql = numbered(_sql("user_of_token").text)
        looked_up = Statement(sql, binds, PLANNED_ONCE, TokenUserRow)
        [rows] = await self._database.one_round_trip(_NOBODY, looked_up, system=True)
        return rows[0] if rows else None

    def _user(self, claims: Mapping[str, object]) -> ResolveUser:
        """Return who a token says that its user is."""
        id_ = claims.get(self.settings.user_claim)
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if not isinstance(id_, str):
            _refuse("no user")
        for name in (claims.get("name"), claims.get("preferred_username"), id_[:200]):
            try:
                return ResolveUser.model_validate(
                    {
                        "platform": self.settings.platform,
                        "platform_user_id": id_,
                        "display_name": name,
                    }
                )
            except ValidationError:
                continue
        _refuse("no user")

    def _agent_id(self, claims: Mapping[str, object]) -> UUID | None:
        id_ = claims.get(self.settings.agent_claim) if self.settings.agent_claim else None
        try:
            return None if id_ is None else UUID(str(id_))
        except ValueError:
            _refuse("agent")


def _words(claim: object) -> Sequence[object]:
    return claim if isinstance(claim, list) else claim.split() if isinstance(claim, str) else []


def _refuse(why: str) -> Never:
    log.debug("a token is refused: %s", why)
    raise Unauthenticated(REFUSED)
