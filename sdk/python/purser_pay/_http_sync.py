"""HTTP by the standard library, for the sync client: connections are kept open, TLS is verified, redirects are not followed."""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from .transport import Request, Response, Unanswered

IDLE_MAX = 16


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class HttpTransport:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def send(self, request: Request) -> Response:
        until = time.monotonic() + request.timeout
        connection, reused = self._take(request)
        try:
            try:
                sock, answer = self._asks(connection, request)
            except (OSError, http.client.HTTPException):
                if not reused:
                    raise
                # The service had closed an idle connection. What is asked for again here is never done twice.
                connection.close()
                connection = self._new(request)
                sock, answer = self._asks(connection, request)
            body = bytearray()
            while chunk := answer.read1(65_536):
                body += chunk
                sock.settimeout(max(until - time.monotonic(), 0.001))
            if answer.length:
                raise http.client.IncompleteRead(bytes(body), answer.length)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            connection.close()
            raise Unanswered(str(failure) or type(failure).__name__) from failure
        except BaseException:
            connection.close()
            raise
        self._keep(request, connection, answer)
        return Response(answer.status, _headers(answer), bytes(body))

    def open(self, request: Request) -> HttpStream:
        connection = self._new(request)
        try:
            _, answer = self._asks(connection, request)
        except (OSError, http.client.HTTPException) as failure:
            connection.close()
            raise Unanswered(str(failure) or type(failure).__name__) from failure
        return HttpStream(connection, answer)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _asks(
        self, connection: http.client.HTTPConnection, request: Request
    ) -> tuple[socket.socket, http.client.HTTPResponse]:
        if connection.sock is None:
            connection.connect()
        sock: socket.socket | None = connection.sock
        assert sock is not None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(request.timeout)
        parts = urlsplit(request.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(request.method, target, body=request.body, headers=dict(request.headers))
        return sock, connection.getresponse()

    def _new(self, request: Request) -> http.client.HTTPConnection:
        parts = urlsplit(request.url)
        if parts.scheme == "https":
            tls = self._tls or ssl.create_default_context()
            self._tls = tls
            return http.client.HTTPSConnection(parts.netloc, timeout=request.timeout, context=tls)
        return http.client.HTTPConnection(parts.netloc, timeout=request.timeout)

    def _take(self, request: Request) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            idle = self._idle.get(_place(request))
            if idle:
                return idle.pop(), True
        return self._new(request), False

    def _keep(self, request: Request, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        with self._lock:
            idle = self._idle.setdefault(_place(request), [])
            if not answer.will_close and len(idle) < IDLE_MAX:
                idle.append(connection)
                return
        connection.close()


class HttpStream:
    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer
        self.response = Response(answer.status, _headers(answer))

    def chunks(self) -> Iterator[bytes]:
        while True:
            try:
                chunk = self._answer.read1(65_536)
            except (OSError, http.client.HTTPException, ValueError) as failure:
                raise Unanswered(str(failure) or type(failure).__name__) from failure
            if not chunk:
                return
            yield chunk

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


def _place(request: Request) -> tuple[str, str]:
    parts = urlsplit(request.url)
    return parts.scheme, parts.netloc


def _headers(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}
