"""HTTP by the standard library, for the sync client: TLS is verified, redirects are not followed."""

from __future__ import annotations

import http.client
import io
import random
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from ._http import PIECE_BYTES_MAX, Plan, Tls, unanswered
from .transport import Request, Response


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class HttpTransport:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = Tls(tls)

    def send(self, request: Request) -> Response:
        stream = self.open(request)
        try:
            return stream.whole(request.answer_bytes_max)
        finally:
            stream.close()

    def open(self, request: Request) -> HttpStream:
        plan = Plan.of(request)
        tls = self._tls.context(plan)
        line = _Line(request.timeout)
        with line.talking():
            line.connect(plan.address)
            if plan.tunnel is not None:
                status = line.asks(plan.tunnel, "CONNECT").status
                if status != 200:
                    raise OSError(f"the proxy answered {status}")
            if tls is not None:
                line.secure(tls, plan.tls_host)
            return HttpStream(line, line.asks(plan.message, request.method), request.timeout)

    def close(self) -> None:
        pass


class HttpStream:
    def __init__(self, line: _Line, answer: http.client.HTTPResponse, silence_max: float) -> None:
        self._line = line
        self._answer = answer
        self._silence_max = silence_max
        headers = {name.lower(): value for name, value in answer.getheaders()}
        self.response = Response(answer.status, headers)

    def whole(self, bytes_max: int) -> Response:
        """The answer with its body, within the time of the request."""
        body = bytearray()
        with self._line.talking():
            while piece := self._answer.read(PIECE_BYTES_MAX):
                body += piece
                if len(body) > bytes_max:
                    raise ValueError("the answer is too long")
            if self._answer.length:
                raise EOFError("the answer was cut")
        return Response(self.response.status, self.response.headers, bytes(body))

    def chunks(self) -> Iterator[bytes]:
        while True:
            with self._line.talking():
                self._line.until = time.monotonic() + self._silence_max
                chunk = self._answer.read1(PIECE_BYTES_MAX)
            if not chunk:
                return
            yield chunk

    def close(self) -> None:
        self._line.close()


class _Line:
    """A connection. `until` ends all that is sent and read over it, however slowly the bytes come."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self._socket = socket.socket()

    @contextmanager
    def talking(self) -> Iterator[None]:
        """Closes the connection if anything fails."""
        try:
            yield
        except Exception as failure:
            self.close()
            raise unanswered(failure) from failure
        except BaseException:
            self.close()
            raise

    def connect(self, address: tuple[str, int]) -> None:
        """Tries each address of the name, for a share of the time."""
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        for number, (family, kind, protocol, _, place) in enumerate(found):
            self._socket.close()
            self._socket = socket.socket(family, kind, protocol)
            self._socket.settimeout(self._seconds_left() / (len(found) - number))
            try:
                self._socket.connect(place)
                break
            except OSError:
                if number + 1 == len(found):
                    raise
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def secure(self, tls: ssl.SSLContext, host: str | None) -> None:
        self._socket.settimeout(self._seconds_left())
        self._socket = tls.wrap_socket(self._socket, server_hostname=host)

    def asks(self, message: bytes, method: str) -> http.client.HTTPResponse:
        self._socket.settimeout(self._seconds_left())
        self._socket.sendall(message)
        answer = http.client.HTTPResponse(cast(socket.socket, self), method=method)
        answer.begin()
        return answer

    def read_into(self, buffer: memoryview) -> int:
        self._socket.settimeout(self._seconds_left())
        return self._socket.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What `http.client` reads from."""
        return io.BufferedReader(_Bytes(self))

    def close(self) -> None:
        self._socket.close()

    def _seconds_left(self) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no whole answer in time")
        return left


class _Bytes(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._line.read_into(buffer)
