"""HTTP/1.1 over asyncio's streams, for the async client: no threads, so a cancelled task leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from .transport import Request, Response, Unanswered

IDLE_MAX = 16
# What a broken connection, or bytes that are no HTTP, raise.
FAILURES = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.TimeoutError)


class AsyncSystemClock:
    def now(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class AsyncHttpTransport:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._idle: dict[tuple[str, str], list[_Connection]] = {}

    async def send(self, request: Request) -> Response:
        try:
            return await asyncio.wait_for(self._exchange(request), request.timeout)
        except FAILURES as failure:
            raise Unanswered(str(failure) or type(failure).__name__) from failure

    async def open(self, request: Request) -> AsyncHttpStream:
        connection = await _Connection.connect(request, self._context(request))
        try:
            head = await asyncio.wait_for(connection.asks(request), request.timeout)
        except FAILURES as failure:
            connection.close()
            raise Unanswered(str(failure) or type(failure).__name__) from failure
        except BaseException:
            connection.close()
            raise
        return AsyncHttpStream(connection, head, request.timeout)

    async def close(self) -> None:
        idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    async def _exchange(self, request: Request) -> Response:
        place = (urlsplit(request.url).scheme, urlsplit(request.url).netloc)
        loop = asyncio.get_running_loop()
        # Connections of a loop that has ended are of no use to another.
        idle = self._idle[place] = [kept for kept in self._idle.get(place, []) if kept.loop is loop]
        reused = bool(idle)
        connection = idle.pop() if idle else await _Connection.connect(request, self._context(request))
        try:
            try:
                head = await connection.asks(request)
            except FAILURES:
                if not reused:
                    raise
                # The service had closed an idle connection. What is asked for again here is never done twice.
                connection.close()
                connection = await _Connection.connect(request, self._context(request))
                head = await connection.asks(request)
            body = b"".join([chunk async for chunk in connection.body(head)])
        except BaseException:
            connection.close()
            raise
        if head.headers.get("connection", "").lower() != "close" and connection.is_whole and len(idle) < IDLE_MAX:
            self._idle.setdefault(place, []).append(connection)
        else:
            connection.close()
        return Response(head.status, head.headers, body)

    def _context(self, request: Request) -> ssl.SSLContext | None:
        if urlsplit(request.url).scheme != "https":
            return None
        self._tls = self._tls or ssl.create_default_context()
        return self._tls


class AsyncHttpStream:
    def __init__(self, connection: _Connection, head: Response, silence_max: float) -> None:
        self._connection = connection
        self._silence_max = silence_max
        self.response = head

    async def chunks(self) -> AsyncIterator[bytes]:
        chunks = self._connection.body(self.response).__aiter__()
        while True:
            try:
                yield await asyncio.wait_for(chunks.__anext__(), self._silence_max)
            except StopAsyncIteration:
                return
            except FAILURES as failure:
                raise Unanswered(str(failure) or type(failure).__name__) from failure

    async def close(self) -> None:
        self._connection.close()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.loop = asyncio.get_running_loop()
        self.is_whole = False
        """Whether the last answer was read to its end, so that the next one begins there."""

    @staticmethod
    async def connect(request: Request, tls: ssl.SSLContext | None) -> _Connection:
        parts = urlsplit(request.url)
        port = parts.port or (443 if tls else 80)
        try:
            opening = asyncio.open_connection(parts.hostname, port, ssl=tls)
            return _Connection(*await asyncio.wait_for(opening, request.timeout))
        except FAILURES as failure:
            raise Unanswered(str(failure) or type(failure).__name__) from failure

    async def asks(self, request: Request) -> Response:
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Host": parts.netloc, **request.headers}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header has a line break")
        self.is_whole = False
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (request.body or b""))
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
            self.is_whole = True
        elif "chunked" in head.headers.get("transfer-encoding", "").lower():
            while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                yield await self._reader.readexactly(size)
                await self._reader.readexactly(2)
            while await self._reader.readuntil(b"\r\n") != b"\r\n":
                pass
            self.is_whole = True
        elif "content-length" in head.headers:
            left = int(head.headers["content-length"])
            while left > 0:
                chunk = await self._reader.read(min(left, 65_536))
                if not chunk:
                    raise EOFError("the answer was cut")
                left -= len(chunk)
                yield chunk
            self.is_whole = True
        else:
            while chunk := await self._reader.read(65_536):
                yield chunk

    def close(self) -> None:
        if not self.loop.is_closed():
            self._writer.close()
