"""Tokens of an identity provider: which are refused, and how rarely its keys are fetched."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from issuer import Issuer, issuing, public, rsa_key

from remembrancer.errors import ConfigurationError, Unauthenticated, Unavailable
from remembrancer.keys.issuer import IssuerKeys, address_of_keys
from remembrancer.keys.tokens import REFUSED, TokenVerifier
from remembrancer.settings import OidcSettings

DISCOVERY, KEYS = "/realm/.well-known/openid-configuration", "/keys"


class Clock:
    """Stands still until it is set forward."""

    now = 0.0
    step = 0.0
    """Seconds that pass from one look to the next."""

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


class Verifiers:
    """Makes verifiers of an issuer, and closes them."""

    def __init__(self, issuer: Issuer) -> None:
        self.clock = Clock()
        self.made: list[IssuerKeys] = []
        self._issuer = issuer

    def make(self, **settings: Any) -> TokenVerifier:
        chosen = self._issuer.settings(**settings)
        keys = IssuerKeys(chosen, clock=self.clock)
        self.made.append(keys)
        return TokenVerifier(chosen, keys)


@pytest.fixture
async def verifiers(issuer: Issuer) -> AsyncIterator[Verifiers]:
    found = Verifiers(issuer)
    yield found
    for keys in found.made:
        await keys.close()


async def refused(verifier: TokenVerifier, token: str) -> bool:
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(token)
    return str(caught.value) == REFUSED


def encoded(part: Any) -> str:
    content = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


async def test_tokens_of_all_kinds_of_keys_are_accepted(
    issuer: Issuer, verifiers: Verifiers
) -> None:
    """RSA and EC by default, EdDSA and PSS where the settings say so; with one fetch for all."""
    issuer.keys["ed-1"] = ed25519.Ed25519PrivateKey.generate()
    verifier = verifiers.make(algorithms="RS256,PS256,ES256,EdDSA")
    for token in (
        issuer.token(),
        issuer.token(algorithm="PS256"),
        issuer.token("ec-1"),
        issuer.token("ed-1"),
        issuer.token(aud=["others", "memory"]),
        # Clocks that differ by a few seconds.
        issuer.token(exp=int(time.time()) - 10),
        issuer.token(nbf=int(time.time()) + 10),
    ):
        assert (await verifier.verify(token))["sub"] == "ada-1"
    assert issuer.fetches == [DISCOVERY, KEYS]
    # A token without an id of its key is accepted where there is one key alone.
    assert await refused(verifier, issuer.token(None))
    issuer.keys = {"": rsa_key("first")}
    alone = verifiers.make(jwks_url=f"{issuer.endpoint.url}/keys")
    assert (await alone.verify(issuer.token(None, key=rsa_key("first"))))["sub"] == "ada-1"
    assert issuer.fetches == [DISCOVERY, KEYS, KEYS]


async def test_what_is_wrong_with_a_token_is_refused_with_one_text(
    issuer: Issuer, verifiers: Verifiers
) -> None:
    """Whatever it is, without a fetch for any of them, and without an address in a token."""
    now = int(time.time())
    small, other = rsa_key("small", 1024), rsa_key("other")
    issuer.keys["small"] = small
    issuer.extra = [
        {"kty": "oct", "kid": "shared", "k": encoded(b"secret" * 8)},
        {"kid": "sealing", **public(rsa_key("first")), "use": "enc"},
        {"kid": "pss", **public(rsa_key("first")), "alg": "PS256"},
        {"kid": "broken", "kty": "RSA", "n": 1, "e": None},
        "nothing", None, {"kty": "EC", "crv": "P-999"}, {"kty": ["RSA"]},
    ]  # fmt: skip
    verifier = verifiers.make()
    good = issuer.token()
    await verifier.verify(good)
    fetched = list(issuer.fetches)
    head, body, signature = good.split(".")
    pem = rsa_key("first").public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    forged = encoded({"alg": "HS256", "kid": "rsa-1"}) + "." + body
    hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    elsewhere = issuer.endpoint.url + "/elsewhere"
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = issuer.token("small", key=small)
    bad = {
        "another issuer": issuer.token(iss="https://elsewhere.example"),
        "issuer with a slash": issuer.token(iss=issuer.url + "/"),
        "no issuer": issuer.token(iss=None),
        "another audience": issuer.token(aud="others"),
        "other audiences": issuer.token(aud=["others"]),
        "no audience": issuer.token(aud=None),
        "expired": issuer.token(exp=now - 60),
        "no expiry": issuer.token(exp=None),
        "an expiry without end": issuer.token(exp=float("inf")),
        "an expiry that is a list": issuer.token(exp=[now + 60]),
        "not yet valid": issuer.token(nbf=now + 60),
        "made in the future": issuer.token(iat=now + 60),
        "no signature": f"{head}.{body}.",
        "another signature": f"{head}.{body}.{encoded(b'x' * 256)}",
        "signature of another token": issuer.token(sub="b").rpartition(".")[0] + "." + signature,
        "another key": issuer.token(key=other),
        "none": encoded({"alg": "none", "kid": "rsa-1"}) + f".{body}.",
        "None": encoded({"alg": "None", "kid": "rsa-1"}) + f".{body}.",
        "no algorithm": encoded({"kid": "rsa-1"}) + f".{body}.{signature}",
        "public key as a secret": f"{forged}.{encoded(hmac.sign(forged.encode(), pem))}",
        "secret of the list": issuer.token("shared", key=b"secret" * 8, algorithm="HS256"),
        "algorithm that is not pinned": issuer.token(algorithm="RS512"),
        "algorithm of no such key": issuer.token("rsa-1", key=issuer.keys["ec-1"]),
        "key of another algorithm": issuer.token("pss", key=rsa_key("first")),
        "key for sealing": issuer.token("sealing", key=rsa_key("first")),
        "broken key": issuer.token("broken", key=rsa_key("first")),
        "another curve": issuer.token(
            "ec-1", key=ec.generate_private_key(ec.SECP384R1()), algorithm="ES384"
        ),
        "weak key": weak,
        "key in the token": issuer.token(key=other, headers={"jwk": public(other)}),
        "address in the token": issuer.token(key=other, headers={"jku": elsewhere}),
        "certificate in the token": issuer.token(key=other, headers={"x5u": elsewhere}),
        "critical extension": issuer.token(headers={"crit": ["b64"], "b64": False}),
        "kid that is no text": encoded({"alg": "RS256", "kid": 7}) + f".{body}.{signature}",
        "unknown kid": issuer.token("nobody", key=other),
        "huge kid": issuer.token("k" * 9000, key=other),
        "huge header": issuer.token(headers={"x": "y" * 1_000_000}),
        "deep header": encoded(b"[" * 12_000) + f".{body}.{signature}",
        "huge number": encoded(b'{"alg":"RS256","kid":' + b"9" * 9000 + b"}") + f".{body}.x",
        "no parts": ".", "two parts": "a.b", "many parts": "." * 16_000,
        "other characters": "\u00e4.\u00fc.\ud800", "a space": good.replace(".", " .", 1),
    }  # fmt: skip
    for name, token in bad.items():
        assert await refused(verifier, token), name
    assert issuer.fetches == fetched
    await verifier.verify(good)


async def test_keys_are_fetched_anew_for_an_unknown_one_but_rarely(
    issuer: Issuer, verifiers: Verifiers
) -> None:
    """A rotated key is found; a storm of unknown ones costs one fetch, which all wait for."""
    verifier, clock = verifiers.make(refetch_seconds=30), verifiers.clock
    old = issuer.token()
    # At once: a hundred tokens, one fetch.
    await asyncio.gather(*(verifier.verify(old) for _ in range(100)))
    assert issuer.fetches == [DISCOVERY, KEYS]
    issuer.keys["rsa-2"] = rsa_key("second")
    new = issuer.token("rsa-2")
    assert await refused(verifier, new), "too early for a fetch"
    clock.now += 31
    assert (await verifier.verify(new))["sub"] == "ada-1"
    assert (await verifier.verify(old))["sub"] == "ada-1"
    assert issuer.fetches == [DISCOVERY, KEYS] * 2
    clock.now += 31
    unpinned = issuer.token("unknown", key=b"secret" * 8, algorithm="HS256")
    assert await refused(verifier, unpinned), "without a fetch"
    assert issuer.fetches == [DISCOVERY, KEYS] * 2
    storm = [issuer.token(f"unknown-{n}", key=rsa_key("other")) for n in range(100)]
    assert all(await asyncio.gather(*(refused(verifier, token) for token in storm)))
    assert issuer.fetches == [DISCOVERY, KEYS] * 3
    assert (await verifier.verify(new))["sub"] == "ada-1"


async def test_requests_at_once_share_a_fetch(issuer: Issuer, verifiers: Verifiers) -> None:
    """Also where a fetch takes longer than the minimum time between two."""
    verifier = verifiers.make(refetch_seconds=0)
    verifiers.clock.step = 1
    await asyncio.gather(*(verifier.verify(issuer.token()) for _ in range(100)))
    assert issuer.fetches == [DISCOVERY, KEYS]


async def test_a_withdrawn_key_ends_when_the_keys_are_old(
    issuer: Issuer, verifiers: Verifiers
) -> None:
    """Old keys are fetched again beside the request; nobody waits for it."""
    verifier, clock = verifiers.make(keys_seconds=60), verifiers.clock
    token = issuer.token()
    await verifier.verify(token)
    issuer.keys = {"rsa-2": rsa_key("second")}
    clock.now += 61
    assert (await verifier.verify(token))["sub"] == "ada-1"
    [keys] = verifiers.made
    assert keys._fetch is not None
    await keys._fetch
    assert await refused(verifier, token)
    assert (await verifier.verify(issuer.token("rsa-2")))["sub"] == "ada-1"


async def test_an_issuer_that_fails_is_no_reason_to_let_anybody_in(
    issuer: Issuer, verifiers: Verifiers
) -> None:
    """Without keys the server does not answer; with some, these count for a day."""
    elsewhere = {"Location": issuer.endpoint.url + "/elsewhere"}
    for failure in (
        (500, {}, {}),
        (302, elsewhere, {}),
        (200, {}, b"no JSON"),
        (200, {}, b"[" * 100_000),
        (200, {}, [issuer.url]),
        (200, {}, {"issuer": issuer.url}),
        (200, {}, {"issuer": issuer.url, "jwks_uri": "file:///etc/passwd"}),
        (200, {}, json.dumps(issuer.answer({"path": DISCOVERY})[2]).encode() + b" " * 300_000),
        (200, {"Content-Length": "5"}, {"issuer": issuer.url}),
    ):
        verifier = verifiers.make()
        issuer.endpoint.script = [failure]
        with pytest.raises(Unavailable):
            await verifier.verify(issuer.token())
        asked = len(issuer.fetches)
        with pytest.raises(Unavailable):
            await verifier.verify(issuer.token())
        assert len(issuer.fetches) == asked, "at once, without another try"
    assert "/elsewhere" not in issuer.fetches

    verifier, clock = verifiers.make(), verifiers.clock
    for answer in ({}, {"keys": {}}, {"keys": [{"kty": "oct"}]}):
        issuer.endpoint.script = [issuer.answer({"path": DISCOVERY}), (200, {}, answer)]
        clock.now += 31
        with pytest.raises(Unavailable):
            await verifier.verify(issuer.token())
    clock.now += 31
    await verifier.verify(issuer.token())
    issuer.endpoint.script = [(503, {}, {})] * 4
    clock.now += 80_000
    await verifier.verify(issuer.token())
    clock.now += 10_000
    with pytest.raises(Unavailable):
        await verifier.verify(issuer.token())


def test_a_discovery_document_leads_to_no_other_place() -> None:
    """It is that of the issuer, and its keys come over https, but for a provider on loopback."""
    issuer, keys = "https://id.example.org", "https://keys.example.org/all"
    assert address_of_keys({"issuer": issuer, "jwks_uri": keys}, issuer) == keys
    local = {"issuer": "http://localhost:8080", "jwks_uri": "http://localhost:8080/keys"}
    assert address_of_keys(local, "http://localhost:8080") == "http://localhost:8080/keys"
    for document in (
        {"issuer": issuer + "/", "jwks_uri": keys},
        {"issuer": None, "jwks_uri": keys},
        {"jwks_uri": keys},
        {"issuer": issuer},
        {"issuer": issuer, "jwks_uri": [keys]},
        {"issuer": issuer, "jwks_uri": "http://id.example.org/keys"},
        {"issuer": issuer, "jwks_uri": "http://127.0.0.1/keys"},
        {"issuer": issuer, "jwks_uri": "file:///etc/passwd"},
    ):
        with pytest.raises(ValueError, match=r"document|address"):
            address_of_keys(document, issuer)


def test_settings_that_would_let_others_in_are_refused() -> None:
    """No audience, an issuer anybody on the way could play, an algorithm with a shared secret."""
    plain = OidcSettings(issuer="http://id.example.org", audience="memory")
    with pytest.raises(ConfigurationError, match=r"oidc\.issuer: must begin with https"):
        IssuerKeys(plain)
    named = OidcSettings(issuer="https://id.example.org")
    with pytest.raises(ConfigurationError, match=r"oidc\.audience: must be set"):
        TokenVerifier(named, IssuerKeys(named))
    for algorithms in ("none", "HS256", "RS256,HS256", "RS256,", ""):
        with pytest.raises(ValueError, match="algorithms"):
            OidcSettings(algorithms=algorithms)
