"""How requests reach the service, and how time passes. Both can be given, for tests or for another HTTP library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


ANSWER_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout: float
    """Seconds for the whole answer; of a stream, how long it may stay silent."""
    answer_bytes_max: int = ANSWER_BYTES_MAX
    """A longer answer is not the service's."""


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes = b""


class Unanswered(Exception):
    """There was no answer, or not a whole one. What was asked for may have been done."""


class Untrusted(Unanswered):
    """The server's certificate is not trusted, which another attempt does not change."""


class Stream(Protocol):
    """An answer whose body comes piece by piece."""

    @property
    def response(self) -> Response: ...

    def chunks(self) -> Iterator[bytes]: ...

    def close(self) -> None: ...


class AsyncStream(Protocol):
    @property
    def response(self) -> Response: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Sends requests. Follows no redirect, bounds the time and length of an answer, and raises `Unanswered` for every failure but
    an answer."""

    def send(self, request: Request) -> Response: ...

    def open(self, request: Request) -> Stream: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    async def send(self, request: Request) -> Response: ...

    async def open(self, request: Request) -> AsyncStream: ...

    async def close(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds of a clock that never goes back."""
        ...

    def random(self) -> float:
        """From 0 up to, but not including, 1."""
        ...

    def sleep(self, seconds: float) -> None: ...


class AsyncClock(Protocol):
    def now(self) -> float: ...

    def random(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
