"""An answer is one send: its head does not wake the client before its body is there."""

import asyncio

from remembrancer.cli.http_server import _OneSend

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"body"


class Wire(asyncio.Transport):
    """What is written, send by send."""

    def __init__(self) -> None:
        super().__init__()
        self.sends: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sends.append(bytes(data))

    def close(self) -> None:
        self.sends.append(b"closed")


async def test_head_and_body_are_one_send() -> None:
    """Also when the connection is closed at once."""
    wire = Wire()
    transport = _OneSend(wire)
    transport.write(HEAD)
    transport.write(BODY)
    transport.close()
    await asyncio.sleep(0)
    assert wire.sends == [HEAD + BODY, b"closed"]


async def test_a_late_body_does_not_hold_up_its_head() -> None:
    """A client of a stream learns at once that it has begun; so does one without a body."""
    wire = Wire()
    transport = _OneSend(wire)
    transport.write(HEAD)
    await asyncio.sleep(0)
    assert wire.sends == [HEAD]
    transport.write(BODY)
    transport.write(HEAD)
    transport.close()
    assert wire.sends == [HEAD, BODY, HEAD, b"closed"]
