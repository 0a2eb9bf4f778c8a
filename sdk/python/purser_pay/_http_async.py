"""HTTP/1.1 over asyncio's streams, for the async client: no threads, so a cancelled task leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import ssl
import sys
import time
from collections.abc import AsyncIterator

from ._http import PIECE_BYTES_MAX, Plan, Tls, unanswered
from .transport import Request, Response


class AsyncSystemClock:
    def now(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class AsyncHttpTransport:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = Tls(tls)

    async def send(self, request: Request) -> Response:
        plan = Plan.of(request)
        tls = self._tls.context(plan)
        try:
            return await asyncio.wait_for(_exchange(plan, tls, request.answer_bytes_max), request.timeout)
        except Exception as failure:
            raise unanswered(failure) from failure

    async def open(self, request: Request) -> AsyncHttpStream:
        plan = Plan.of(request)
        tls = self._tls.context(plan)
        try:
            return await asyncio.wait_for(_opened(plan, tls, request.timeout), request.timeout)
        except Exception as failure:
            raise unanswered(failure) from failure

    async def close(self) -> None:
        pass


async def _opened(plan: Plan, tls: ssl.SSLContext | None, silence_max: float) -> AsyncHttpStream:
    connection = await _Connection.to(plan, tls)
    try:
        return AsyncHttpStream(connection, await connection.asks(plan.message), silence_max)
    except BaseException:
        connection.close()
        raise


async def _exchange(plan: Plan, tls: ssl.SSLContext | None, bytes_max: int) -> Response:
    connection = await _Connection.to(plan, tls)
    try:
        head = await connection.asks(plan.message)
        body = bytearray()
        async for piece in connection.body(head):
            body += piece
            if len(body) > bytes_max:
                raise ValueError("the answer is too long")
        return Response(head.status, head.headers, bytes(body))
    finally:
        connection.close()


class AsyncHttpStream:
    def __init__(self, connection: _Connection, head: Response, silence_max: float) -> None:
        self._connection = connection
        self._silence_max = silence_max
        self.response = head

    async def chunks(self) -> AsyncIterator[bytes]:
        chunks = self._connection.body(self.response).__aiter__()
        while True:
            try:
                chunk = await asyncio.wait_for(chunks.__anext__(), self._silence_max)
            except StopAsyncIteration:
                return
            except Exception as failure:
                raise unanswered(failure) from failure
            yield chunk

    async def close(self) -> None:
        self._connection.close()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @staticmethod
    async def to(plan: Plan, tls: ssl.SSLContext | None) -> _Connection:
        host, port = plan.address
        # Addresses that do not answer cost a quarter of a second each.
        if plan.tunnel is None:
            opened = await asyncio.open_connection(
                host, port, ssl=tls, server_hostname=plan.tls_host, happy_eyeballs_delay=0.25
            )
            return _Connection(*opened)
        connection = _Connection(*await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25))
        try:
            status = (await connection.asks(plan.tunnel)).status
            if status != 200:
                raise OSError(f"the proxy answered {status}")
            if tls is not None:
                await connection._secure(tls, plan.tls_host)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _secure(self, tls: ssl.SSLContext, host: str | None) -> None:
        if sys.version_info >= (3, 11):
            await self._writer.start_tls(tls, server_hostname=host)
            return
        loop, plain = asyncio.get_running_loop(), self._writer.transport
        protocol = plain.get_protocol()
        secured = await loop.start_tls(plain, protocol, tls, server_hostname=host)
        if secured is None:
            raise OSError("the connection was lost")
        self._writer = asyncio.StreamWriter(secured, protocol, self._reader, loop)

    async def asks(self, message: bytes) -> Response:
        self._writer.write(message)
        await self._writer.drain()
        while True:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            version, status, *_ = head[0].split(" ", 2)
            if not version.startswith("HTTP/1."):
                raise ValueError("not HTTP")
            if int(status) >= 200:
                break
        fields = [line.partition(":") for line in head[1:] if line]
        return Response(int(status), {name.strip().lower(): value.strip() for name, _, value in fields})

    async def body(self, head: Response) -> AsyncIterator[bytes]:
        if head.status in (204, 304):
            return
        if "chunked" in head.headers.get("transfer-encoding", "").lower():
            while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                async for piece in self._pieces(size):
                    yield piece
                await self._reader.readexactly(2)
        elif "content-length" in head.headers:
            async for piece in self._pieces(int(head.headers["content-length"])):
                yield piece
        else:
            while piece := await self._reader.read(PIECE_BYTES_MAX):
                yield piece

    async def _pieces(self, left: int) -> AsyncIterator[bytes]:
        while left > 0:
            piece = await self._reader.read(min(left, PIECE_BYTES_MAX))
            if not piece:
                raise EOFError("the answer was cut")
            left -= len(piece)
            yield piece

    def close(self) -> None:
        self._writer.transport.abort()
